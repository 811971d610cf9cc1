#include "launcher/slurm/queue_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "launcher/slurm/slurm_time.hpp"
#include "support/file_text.hpp"
#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string recorded(const std::string& name) {
  return *read_file_text(std::string(DLLAUNCH_SOURCE_DIR) + "/tests/fixtures/slurm/22.05/" + name);
}

TEST(QueueRows, OfSlurm2205) {
  const auto rows = parse_queue_rows(recorded("queue-rows.txt"));
  ASSERT_EQ(rows.size(), 8u) << "the held job takes no part";
  EXPECT_FALSE(rows[0].waits);
  EXPECT_THAT(rows[0].hosts, ElementsAre("n1", "n2"));
  EXPECT_EQ(rows[0].limit_s, 600);
  EXPECT_TRUE(rows[3].waits);
  EXPECT_EQ(rows[3].nodes, 8);
  EXPECT_EQ(rows[3].start_s, static_cast<double>(*parse_slurm_time("2026-11-26T20:22:31")));
  EXPECT_EQ(rows[6].tasks, 2) << "%2 of eight tasks";
  EXPECT_THAT(rows[6].partitions, ElementsAre("batch", "short"));
  EXPECT_FALSE(rows[6].start_s);
}

TEST(QueueRows, TasksOfAnArrayThatMayRunAtOnce) {
  const auto rows = parse_queue_rows(
      "7_[0-12:2]|PENDING|a|1|5:00|N/A||Priority\n"
      "8_[0-12:2%3]|PENDING|a|1|5:00|N/A||Priority\n"
      "9_[1,3,7,...%3]|PENDING|a|1|5:00|N/A||Priority\n"
      "10_[1,3,7,...]|PENDING|a|1|5:00|N/A||Priority\n"
      "11_4|PENDING|a|1|5:00|N/A||Priority\n");
  std::vector<int> tasks;
  for (const auto& row : rows) tasks.push_back(row.tasks);
  EXPECT_THAT(tasks, ElementsAre(7, 3, 3, 3, 1));
}

TEST(QueueRows, SkipsWhatTakesNoPartOrIsNoJob) {
  EXPECT_THAT(parse_queue_rows("JOBID|STATE|PARTITION|NODES|TIME_LIMIT|START_TIME|NODELIST|REASON\n"
                               "7|PENDING|a|1|5:00|N/A||Dependency\n"
                               "8|PENDING|a|0|5:00|N/A||Priority\n"
                               "9|RUNNING|a|1|5:00|N/A||None\n"
                               "wrapper: 3 jobs in your queue\n\n"),
              IsEmpty());
  const auto unlimited = parse_queue_rows("7|PENDING|a|1|UNLIMITED|N/A||Priority\n");
  ASSERT_EQ(unlimited.size(), 1u);
  EXPECT_FALSE(unlimited[0].limit_s);
}

TEST(QueueRows, BusyHostsOnceEach) {
  EXPECT_THAT(parse_busy_hosts("n1|allocated\nn1|allocated\nn2|mixed\nn3|idle\nn4|down*\n"
                               "n5|draining\nn6|planned\nn7|mixed-\n"),
              ElementsAre("n1", "n2", "n5", "n7"));
  EXPECT_EQ(parse_busy_hosts(recorded("node-states.txt")).size(), 8u);
}

TEST(QueueRows, KnowsWhenJobsOfOthersAreHidden) {
  QueueView view{.rows = {{.hosts = {"n1", "n2"}}}, .busy = {"n1", "n2", "n3"}};
  EXPECT_FALSE(view.hides_jobs()) << "one may have begun in between";
  view.busy.emplace_back("n4");
  EXPECT_TRUE(view.hides_jobs());
}

TEST(QueueRows, AsksTwice) {
  FakeSystem system;
  system.answers["squeue --noheader --all --sort=-p --format=%i|%T|%P|%D|%l|%S|%N|%r"] = {
      0, recorded("queue-rows.txt"), ""};
  system.answers["sinfo --noheader --all --Node --format=%N|%T|%R|%p|%M"] = {
      0, recorded("node-states.txt"), ""};
  const auto view = whole_queue(system, std::chrono::seconds(1));
  ASSERT_TRUE(view);
  EXPECT_EQ(view->rows.size(), 8u);
  EXPECT_FALSE(view->hides_jobs());
  FakeSystem silent;
  silent.answers["squeue --noheader --all --sort=-p --format=%i|%T|%P|%D|%l|%S|%N|%r"] = {
      1, "", "slurm_load_jobs error: Unable to contact slurm controller"};
  EXPECT_FALSE(whole_queue(silent, std::chrono::seconds(1)));
}

TEST(QueueRows, PrecedenceOfPartitions) {
  const auto found = parse_precedence(
      "n1|idle|batch|1|REQUEUE\nn1|idle|high|10|OFF\nn2|idle|batch|1|REQUEUE\n"
      "n3|idle\n");
  EXPECT_THAT(found,
              ElementsAre(testing::Pair("batch", "1|REQUEUE"), testing::Pair("high", "10|OFF")));
}

TEST(QueueRows, AJobThatIsCompletingHoldsItsNodesNoLonger) {
  const auto rows = parse_queue_rows("7|COMPLETING|a|1|1-00:00:00|2026-11-26T20:22:31|n1|None\n");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].limit_s, 0);
}

TEST(StartEstimate, OfEveryAnswerOfSlurm2205) {
  int estimates = 0;
  int refusals = 0;
  const auto text = recorded("test-only.txt");
  for (std::size_t begin = 0; begin < text.size();) {
    auto end = text.find("\n$ ", begin);
    if (end == std::string::npos) end = text.size();
    const auto answer = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    const auto estimate = parse_start_estimate(answer);
    const bool says = answer.find("to start at") != std::string_view::npos;
    ASSERT_EQ(estimate.has_value(), says) << answer;
    (says ? estimates : refusals) += 1;
    if (estimate) {
      EXPECT_GT(estimate->start_s, 1.7e9);
      EXPECT_THAT(estimate->partition, testing::AnyOf("batch", "short"));
      EXPECT_FALSE(estimate->nodes.empty());
    }
  }
  EXPECT_EQ(estimates, 3);
  EXPECT_EQ(refusals, 9);
}

TEST(StartEstimate, OfOlderSlurmAndOfNoise) {
  const auto old = parse_start_estimate(
      "lua: welcome; sbatch: Job 5 to start at 2026-11-21T11:22:45 using 2 processors on n[1-2]");
  ASSERT_TRUE(old);
  EXPECT_EQ(old->partition, "");
  EXPECT_EQ(old->start_s, static_cast<double>(*parse_slurm_time("2026-11-21T11:22:45")));
  EXPECT_FALSE(parse_start_estimate("sbatch: Job 5 to start at Unknown"));
  EXPECT_FALSE(parse_start_estimate(""));
}

/// Slurm prints this machine's local time, daylight saving included.
TEST(StartEstimate, IsLocalTime) {
  const char* before = std::getenv("TZ");
  const std::string kept = before ? before : "";
  setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
  tzset();
  const auto summer = parse_start_estimate("Job 1 to start at 2026-07-01T12:00:00 using");
  const auto winter = parse_start_estimate("Job 1 to start at 2026-12-01T12:00:00 using");
  if (before) {
    setenv("TZ", kept.c_str(), 1);
  } else {
    unsetenv("TZ");
  }
  tzset();
  ASSERT_TRUE(summer && winter);
  EXPECT_EQ(summer->start_s, 1782900000) << "10:00 UTC";
  EXPECT_EQ(winter->start_s, 1796122800) << "11:00 UTC";
}

}  // namespace
}  // namespace dllaunch
