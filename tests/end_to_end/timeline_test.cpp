// Timelines of real ranks, switched by real signals, merged by the real dllaunch; here and on a
// real Slurm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "launcher/os/posix_system.hpp"
#include "tests/end_to_end/launched.hpp"
#include "tests/end_to_end/test_cluster.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

std::string job_of(const std::string& more) {
  return "name: tiny\nresources: {device: cpu" + more +
         "}\ntrain: {model: lenet, batch_size: 16, epochs: 2, dataset: {kind: synthetic, images: "
         "640}}\n";
}

const std::vector<std::string> endless = {"--set", "train.epochs=100000",
                                          "--set", "train.checkpoint.every_epochs=null",
                                          "--set", "train.validate_every=0"};

std::vector<std::string> with(std::vector<std::string> argv, const std::vector<std::string>& more) {
  argv.insert(argv.end(), more.begin(), more.end());
  return argv;
}

/// The names of the spans of each rank.
std::map<int, std::set<std::string>> spans_of(const Json& trace) {
  std::map<int, std::set<std::string>> names;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") names[event["pid"].get<int>()].insert(event["name"]);
  }
  return names;
}

bool all_well_formed(const Workplace& work, int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    const auto name = "run/timeline/rank-0000" + std::to_string(rank) + ".json";
    if (!fs::exists(work.path() + "/" + name) || !Json::accept(work.text_of(name))) return false;
  }
  return true;
}

class LocalTimeline : public testing::Test {
 protected:
  void SetUp() override {
    if (!PosixSystem(Console{}).find_program("mpirun")) GTEST_SKIP() << "no mpirun on this machine";
  }
  std::vector<std::string> run_args() {
    const auto job = work_.file("tiny.yaml", job_of(", ranks_per_node: 2"));
    return {"run", job, "--local", "--run-dir", work_.run_dir()};
  }
  bool steps_were_made(std::size_t count) {
    return happens_within(60s, [&] { return events_of(work_.run_dir(), "step").size() > count; });
  }

  Workplace work_;
};

TEST_F(LocalTimeline, OfARunIsOneTrace) {
  const auto ended = work_.run(with(run_args(), {"--set", "runtime.timeline=true"}));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  ASSERT_TRUE(all_well_formed(work_, 2));
  const auto report = work_.run({"report", work_.run_dir(), "--timeline"});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(report.out, HasSubstr("run/timeline.json: 2 of 2 ranks"));
  EXPECT_THAT(report.out, HasSubstr("ui.perfetto.dev"));
  EXPECT_THAT(report.out, HasSubstr("steps      1 to 40: LOAD_DATA"));
  const auto spans = spans_of(Json::parse(work_.text_of("run/timeline.json")));
  for (const int rank : {0, 1}) {
    ASSERT_TRUE(spans.contains(rank));
    EXPECT_THAT(spans.at(rank),
                testing::IsSupersetOf({"START", "LOAD_DATA", "FORWARD", "BACKWARD", "UPDATE",
                                       "WAIT_FOR_ALLREDUCE", "ALLREDUCE", "NEGOTIATE_ALLREDUCE",
                                       "HIERARCHICAL_ALLREDUCE", "VALIDATION", "CHECKPOINT"}));
  }
  const auto plain = work_.run({"report", work_.run_dir()});
  EXPECT_EQ(plain.exit_code, 0);
  EXPECT_THAT(plain.out, HasSubstr("completed, 2 ranks, 2 epochs"));
  EXPECT_THAT(plain.out, HasSubstr("seconds of epoch 2 on 2 ranks"));
}

TEST_F(LocalTimeline, IsSwitchedBySignalAndSurvivesAKill) {
  work_.start(with(run_args(), endless));
  ASSERT_TRUE(steps_were_made(3));
  EXPECT_FALSE(fs::exists(work_.run_dir() + "/timeline"));
  const auto none = PosixSystem(Console{}).run(
      {std::string(DLLAUNCH_BIN_DIR) + "/dllaunch", "report", work_.run_dir(), "--timeline"}, 30s);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->exit_code, 2);
  EXPECT_THAT(none->err, HasSubstr("runtime.timeline: true"));

  std::vector<pid_t> trainers;
  for (const int rank : {0, 1}) {
    for (const pid_t pid : processes_of(work_.run_dir(), rank)) trainers.push_back(pid);
  }
  ASSERT_EQ(trainers.size(), 2u);
  for (const pid_t pid : trainers) kill(pid, SIGUSR1);
  ASSERT_TRUE(happens_within(20s, [&] { return all_well_formed(work_, 2); }));
  ASSERT_TRUE(steps_were_made(10));
  // Off again: nothing changes any more.
  for (const pid_t pid : trainers) kill(pid, SIGUSR1);
  const auto newest = [&] { return work_.text_of("run/timeline/rank-00001.json"); };
  ASSERT_TRUE(happens_within(30s, [&] {
    const auto before = newest();
    // A rank that has not run meanwhile has not seen the signal either, and would take the next
    // one for the same.
    const auto steps = events_of(work_.run_dir(), "step").size();
    const bool ran = steps_were_made(steps + 3);
    std::this_thread::sleep_for(400ms);
    return ran && newest() == before;
  }));
  for (const pid_t pid : trainers) kill(pid, SIGUSR1);
  const auto before = newest();
  ASSERT_TRUE(happens_within(20s, [&] { return newest() != before; }));

  kill(trainers[1], SIGKILL);
  EXPECT_EQ(work_.wait().exit_code, 1);
  ASSERT_TRUE(all_well_formed(work_, 2));
  EXPECT_EQ(work_.run({"report", work_.run_dir(), "--timeline"}).exit_code, 0);
  EXPECT_TRUE(Json::accept(work_.text_of("run/timeline.json")));
}

TEST_F(LocalTimeline, WhatCannotBeWrittenIsSaidOnceAndTrainingGoesOn) {
  fs::create_directories(work_.run_dir());
  work_.file("run/timeline", "in the way");
  const auto ended = work_.run(with(run_args(), {"--set", "runtime.timeline=true"}));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  const auto logs = work_.run({"logs", work_.run_dir(), "--rank", "1"});
  const std::string line = "dltrain: warning: no timeline: cannot write";
  const auto first = logs.out.find(line);
  ASSERT_NE(first, std::string::npos) << logs.out;
  EXPECT_EQ(logs.out.find(line, first + 1), std::string::npos);
}

/// Slurm's own way to send a signal to the ranks of a job.
TEST(SlurmTimeline, IsSwitchedByScancelOnAllNodes) {
  const TestCluster cluster({"--nodes", "2", "--cpus", "2"});
  if (cluster.cannot_run_here()) GTEST_SKIP() << cluster.why_not();
  ASSERT_TRUE(cluster.up()) << cluster.why_not();
  Workplace work(cluster.share());
  work.before = cluster.login();
  work.environment = {{"TERM", "dumb"}, {"XDG_CACHE_HOME", work.path() + "/cache"}};
  const auto job = work.file("tiny.yaml", job_of(", nodes: 2, ranks_per_node: 1, time: 5"));
  work.start(with({"run", job, "--run-dir", work.run_dir()}, endless));
  ASSERT_TRUE(happens_within(90s, [&] { return events_of(work.run_dir(), "step").size() > 3; }))
      << work.wait(1s).err;
  const std::string id = work.job_id();
  cluster.on_head({"scancel", "--signal=USR1", id});
  EXPECT_TRUE(happens_within(30s, [&] { return all_well_formed(work, 2); }));
  std::this_thread::sleep_for(500ms);
  const auto newest = events_of(work.run_dir(), "step").size();
  EXPECT_TRUE(
      happens_within(30s, [&] { return events_of(work.run_dir(), "step").size() > newest + 3; }));
  work.signal(SIGTERM);
  work.wait();
  const auto report = work.run({"report", work.run_dir(), "--timeline"});
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(report.out, HasSubstr("2 of 2 ranks"));
  const auto spans = spans_of(Json::parse(work.text_of("run/timeline.json")));
  EXPECT_EQ(spans.size(), 2u);
}

}  // namespace
}  // namespace dllaunch
