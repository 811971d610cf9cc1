#include "launcher/monitor/observe_runs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

class ObserveRunsTest : public testing::Test {
 protected:
  void answer(const std::string& what, CommandOutput output) {
    place_.system.answers["squeue --noheader --format=" + std::string(queue_format) + " " + what] =
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
  const auto run_states = observe_runs(place_.system, 3);
  ASSERT_EQ(run_states.size(), 8u);
  EXPECT_EQ(run_states[0].state, "pending");
  EXPECT_EQ(run_states[1].state, "running");
  EXPECT_EQ(run_states[2].state, "ended");
  EXPECT_EQ(run_states[7].state, "completed");
  EXPECT_EQ(place_.system.ran.size(), 1u);
}

/// Runs of another cluster look ended here; one question says where this is.
TEST_F(ObserveRunsTest, TheClusterIsAskedForOnce) {
  place_.system.answers["scontrol show config"] = {0, "ClusterName = beta\n", ""};
  for (int i = 0; i < 5; ++i) {
    const auto n = std::to_string(i);
    const auto path = place_.store({.folder = "r" + n, .job_id = n});
    place_.append(path, "job.json", R"({"id": ")" + n + R"(", "cluster": "alpha"})");
  }
  answer("--me", {0, "", ""});
  const auto run_states = observe_runs(place_.system, 3);
  ASSERT_EQ(run_states.size(), 5u);
  for (const auto& run_state : run_states) EXPECT_EQ(run_state.state, "elsewhere");
  EXPECT_EQ(place_.system.ran.size(), 2u);
}

TEST_F(ObserveRunsTest, ARunningJobWhoseDirectoryIsAwayIsListed) {
  const auto away =
      place_.store({.folder = "scratch/runs/train-20261121-101500-x1y2", .job_id = "7"});
  const auto deleted = place_.store({.folder = "old/runs/r", .job_id = "8"});
  place_.store({.folder = "local", .status = "completed"});
  std::filesystem::remove_all(place_.path_of("scratch"));
  std::filesystem::remove_all(place_.path_of("old"));
  place_.system.programs = {"squeue"};
  answer("--me", {0, "7|RUNNING|N/A|0:05|n[1-2]|None|(null)|train|" + away + "/job.sbatch\n", ""});
  const auto run_states = observe_runs(place_.system, 10);
  ASSERT_EQ(run_states.size(), 2u);
  EXPECT_EQ(run_states[0].state, "running");
  EXPECT_EQ(run_states[0].run.job_id, "7");
  EXPECT_EQ(run_states[0].where, "n[1-2]");
  const auto text = render_runs(run_states, 1000);
  EXPECT_NE(text.find("its directory is away: " + away), std::string::npos) << text;
  EXPECT_TRUE(to_json(run_states[0])["nodes"].is_null());
}

TEST_F(ObserveRunsTest, AnotherJobOfTheNumberIsTold) {
  const auto path = place_.store({.folder = "a", .job_id = "3"});
  answer("--jobs=3", {0, "3|RUNNING|N/A|0:05|n1|None|(null)|wrap|/home/x.sh\n", ""});
  const auto run_state = observe_run(place_.system, *read_stored_run(place_.system, path));
  EXPECT_EQ(run_state.state, "ended");
  EXPECT_TRUE(run_state.number_taken);
  answer("--jobs=3", {0, "3|RUNNING|N/A|0:05|n1|None|(null)|sleepy|/home/x.sh\n", ""});
  const auto ours = observe_run(place_.system, *read_stored_run(place_.system, path));
  EXPECT_EQ(ours.state, "running");
  EXPECT_FALSE(ours.number_taken);
}

TEST_F(ObserveRunsTest, WithoutAJobToAskForSlurmIsLeftAlone) {
  place_.store({.folder = "local"});
  place_.store({.folder = "over", .job_id = "3", .status = "failed"});
  EXPECT_EQ(observe_runs(place_.system, 10).size(), 2u);
  EXPECT_TRUE(place_.system.ran.empty());
}

TEST_F(ObserveRunsTest, ASilentSlurmIsSaidOnce) {
  place_.store({.folder = "a", .job_id = "3"});
  place_.store({.folder = "b", .job_id = "4"});
  answer("--me", {1, "", "slurm_load_jobs error: Unable to contact slurm controller\n"});
  const auto run_states = observe_runs(place_.system, 10);
  ASSERT_EQ(run_states.size(), 2u);
  EXPECT_EQ(run_states[0].state, "unknown");
  EXPECT_EQ(std::count(place_.system.logged.begin(), place_.system.logged.end(), '\n'), 1);
  EXPECT_NE(place_.system.logged.find("Slurm does not answer"), std::string::npos);
}

TEST_F(ObserveRunsTest, OneRunAsksForItsOwnJob) {
  auto run = read_stored_run(place_.system, place_.store({.folder = "a", .job_id = "3"}));
  ASSERT_TRUE(run);
  answer("--jobs=3", {1, "", "slurm_load_jobs error: Invalid job id specified\n"});
  EXPECT_EQ(observe_run(place_.system, *run).state, "ended");
}

}  // namespace
}  // namespace dllaunch
