#include "launcher/monitor/observe_runs.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

class ObserveRunsTest : public testing::Test {
 protected:
  void answer(const std::string& what, CommandOutput output) {
    place_.world.answers["squeue --noheader --format=" + std::string(queue_format) + " " + what] =
        std::move(output);
  }

  RunPlace place_;
};

TEST_F(ObserveRunsTest, TheQueueIsAskedOnceForAll) {
  for (int i = 0; i < 30; ++i) {
    const auto n = std::to_string(i);
    place_.store({.folder = "r" + n, .job_id = n, .status = i < 25 ? "completed" : ""});
  }
  answer("--me", {0, "28|RUNNING|N/A|0:05|n1|None\n29|PENDING|N/A|0:00||Resources\n", ""});
  const auto views = observe_runs(place_.world, 3);
  ASSERT_EQ(views.size(), 8u);
  EXPECT_EQ(views[0].state, "pending");
  EXPECT_EQ(views[1].state, "running");
  EXPECT_EQ(views[2].state, "ended");
  EXPECT_EQ(views[7].state, "completed");
  EXPECT_EQ(place_.world.ran.size(), 1u);
}

/// Runs of another cluster look ended here; one question says where this is.
TEST_F(ObserveRunsTest, TheClusterIsAskedForOnce) {
  place_.world.answers["scontrol show config"] = {0, "ClusterName = beta\n", ""};
  for (int i = 0; i < 5; ++i) {
    const auto n = std::to_string(i);
    const auto path = place_.store({.folder = "r" + n, .job_id = n});
    place_.append(path, "job.json", R"({"id": ")" + n + R"(", "cluster": "alpha"})");
  }
  answer("--me", {0, "", ""});
  const auto views = observe_runs(place_.world, 3);
  ASSERT_EQ(views.size(), 5u);
  for (const auto& view : views) EXPECT_EQ(view.state, "elsewhere");
  EXPECT_EQ(place_.world.ran.size(), 2u);
}

TEST_F(ObserveRunsTest, AnotherJobOfTheNumberIsTold) {
  const auto path = place_.store({.folder = "a", .job_id = "3"});
  answer("--jobs=3", {0, "3|RUNNING|N/A|0:05|n1|None|(null)|wrap|/home/x.sh\n", ""});
  const auto view = observe_run(place_.world, *read_stored_run(place_.world, path));
  EXPECT_EQ(view.state, "ended");
  EXPECT_TRUE(view.number_taken);
  answer("--jobs=3", {0, "3|RUNNING|N/A|0:05|n1|None|(null)|sleepy|/home/x.sh\n", ""});
  const auto ours = observe_run(place_.world, *read_stored_run(place_.world, path));
  EXPECT_EQ(ours.state, "running");
  EXPECT_FALSE(ours.number_taken);
}

TEST_F(ObserveRunsTest, WithoutAJobToAskForSlurmIsLeftAlone) {
  place_.store({.folder = "local"});
  place_.store({.folder = "over", .job_id = "3", .status = "failed"});
  EXPECT_EQ(observe_runs(place_.world, 10).size(), 2u);
  EXPECT_TRUE(place_.world.ran.empty());
}

TEST_F(ObserveRunsTest, ASilentSlurmIsSaidOnce) {
  place_.store({.folder = "a", .job_id = "3"});
  place_.store({.folder = "b", .job_id = "4"});
  answer("--me", {1, "", "slurm_load_jobs error: Unable to contact slurm controller\n"});
  const auto views = observe_runs(place_.world, 10);
  ASSERT_EQ(views.size(), 2u);
  EXPECT_EQ(views[0].state, "unknown");
  EXPECT_EQ(std::count(place_.world.noted.begin(), place_.world.noted.end(), '\n'), 1);
  EXPECT_NE(place_.world.noted.find("Slurm does not answer"), std::string::npos);
}

TEST_F(ObserveRunsTest, OneRunAsksForItsOwnJob) {
  auto run = read_stored_run(place_.world, place_.store({.folder = "a", .job_id = "3"}));
  ASSERT_TRUE(run);
  answer("--jobs=3", {1, "", "slurm_load_jobs error: Invalid job id specified\n"});
  EXPECT_EQ(observe_run(place_.world, *run).state, "ended");
}

}  // namespace
}  // namespace dllaunch
