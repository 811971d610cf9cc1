#include "launcher/observe_runs.hpp"

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
