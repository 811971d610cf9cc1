#include "launcher/run_status.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

class RunStatusTest : public testing::Test {
 protected:
  RunStatusView status(const std::string& path, const std::string& queue) {
    auto run = read_stored_run(place_.world, path);
    EXPECT_TRUE(run);
    const Queue jobs{.answered = true, .jobs = parse_queue(queue)};
    const auto now = static_cast<double>(std::time(nullptr));
    return status_of(view_run(*std::move(run), jobs, now), now + 100);
  }
  std::string shown(const std::string& path, const std::string& queue) {
    std::string text = render_status(status(path, queue));
    for (auto at = text.find(path); at != std::string::npos; at = text.find(path))
      text.replace(at, path.size(), "RUN");
    return text;
  }

  RunPlace place_;
};

TEST_F(RunStatusTest, ARunningRun) {
  const auto path = place_.store({.folder = "r", .job_id = "7"});
  place_.append(path, "out/rank-0001-n1.log", "step 12\n");
  const auto text = shown(path, "7|RUNNING|N/A|1:05|n[1-2]|None\n");
  EXPECT_EQ(text.substr(0, text.find("quiet for")),
            "sleepy: running, 1:05 on n[1-2]\n"
            "  run         RUN\n"
            "  job         7\n"
            "  ranks       4 on 2 nodes\n"
            "  progress    step 12\n"
            "  logs        out/rank-0001-n1.log  8 B, ");
  EXPECT_NE(text.find("  follow      dllaunch logs -f RUN\n"
                      "  attach      dllaunch run RUN/job.yaml --run-dir RUN\n"
                      "  cancel      dllaunch cancel RUN\n"),
            std::string::npos)
      << text;
}

TEST_F(RunStatusTest, APendingOneSaysWhyAndUntilWhen) {
  const auto path = place_.store({.folder = "r", .job_id = "7"});
  const auto text = shown(path, "7|PENDING|2026-11-20T20:07:21|0:00||Priority\n");
  EXPECT_EQ(text.substr(0, text.find("  run ")),
            "sleepy: pending: jobs with higher priority are ahead (Priority), expected to start "
            "2026-11-20T20:07:21\n");
}

TEST_F(RunStatusTest, AFailedOneSaysWhy) {
  const auto path = place_.store({.folder = "r", .job_id = "7"});
  place_.append(path, "summary.json",
                R"({"status":"failed","seconds":60,"reason":"rank 3 died","first_error":"boom"})");
  const auto text = shown(path, "");
  EXPECT_EQ(text.substr(0, text.find("  run ")),
            "sleepy: failed, 1:00\n"
            "  first error boom\n"
            "  why         rank 3 died\n");
  EXPECT_NE(text.find("  go on       dllaunch run RUN/job.yaml --run-dir RUN\n"),
            std::string::npos);
  EXPECT_EQ(to_json(status(path, ""))["reason"], "rank 3 died");
}

TEST_F(RunStatusTest, AnArrayShowsItsTasks) {
  const auto path = place_.store({.folder = "r", .job_id = "7", .array = "0-3%1"});
  const auto text = shown(path,
                          "7_[2-3%1]|PENDING|N/A|0:00||JobArrayTaskLimit\n"
                          "7_1|RUNNING|N/A|0:05|n1|None\n");
  EXPECT_NE(text.find("  tasks       [2-3%1] pending: "), std::string::npos) << text;
  EXPECT_NE(text.find("              1 running on n1\n"), std::string::npos) << text;
}

TEST_F(RunStatusTest, ManyLogsAreCounted) {
  const auto path = place_.store({.folder = "r", .status = "completed"});
  for (int i = 10; i < 40; ++i)
    place_.append(path, "out/rank-00" + std::to_string(i) + "-vm.log", "x\n");
  const auto text = shown(path, "");
  EXPECT_NE(text.find("and 22 more; quiet for longest: out/rank-00"), std::string::npos) << text;
  EXPECT_EQ(to_json(status(path, ""))["logs"].size(), 30u);
}

}  // namespace
}  // namespace dllaunch
