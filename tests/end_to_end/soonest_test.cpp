// `when` and `run --soonest` on a real Slurm: an idle one, and one that is blocked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "support/json_fields.hpp"
#include "tests/end_to_end/test_cluster.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class SlurmSoonest : public OnTestCluster {
 protected:
  static void SetUpTestSuite() {
    start_cluster({"--nodes", "4", "--cpus", "1", "--user", "alice", "--conf", "PrivateData=jobs",
                   "--partition", "batch MaxTime=120", "--partition", "short MaxTime=20"});
  }

  void arrange() override {
    work_->environment.insert(
        work_->environment.end(),
        {{"XDG_STATE_HOME", work_->path() + "/state"}, {"SLURM_TIME_FORMAT", "relative"}});
    job_ = work_->file("job.yaml",
                       "name: soon\n"
                       "resources: {nodes: 2, ranks_per_node: 1, device: cpu, time: 30}\n"
                       "train: {model: lenet, backend: reference, batch_size: 8, epochs: 1,\n"
                       "  dataset: {kind: synthetic, images: 32, classes: 10, channels: 1, "
                       "image_size: 28}}\n");
  }
  void TearDown() override {
    if (!cluster_->up()) return;
    cluster_->on_head({"scancel", "--user=root"});
    EXPECT_TRUE(happens_within(std::chrono::seconds(30), [] {
      return cluster_->on_head({"squeue", "-h"}).empty() &&
             cluster_->on_head({"sinfo", "-h", "-p", "batch", "-o", "%D %t"}) == "4 idle";
    }));
  }

  Json when(std::vector<std::string> more = {}) const {
    std::vector<std::string> argv = {"when", job_, "--json"};
    argv.insert(argv.end(), more.begin(), more.end());
    const auto ended = work_->run(argv);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return Json::parse(ended.out, nullptr, false);
  }
  /// A job of so many nodes and minutes, which does nothing.
  static void submit(int nodes, int minutes) {
    cluster_->on_head({"sbatch", "--exclusive", "--output=/dev/null",
                       "--nodes=" + std::to_string(nodes), "--time=" + std::to_string(minutes),
                       "--wrap=sleep 600"});
  }
  /// Until Slurm has planned so many waiting jobs.
  static bool planned(int jobs) {
    return happens_within(std::chrono::seconds(20), [jobs] {
      const auto starts = cluster_->on_head({"squeue", "-h", "-t", "PD", "-o", "%S"});
      return std::ranges::count(starts, 'T') == jobs;
    });
  }

  std::string job_;
};

TEST_F(SlurmSoonest, AnIdleClusterTakesAllNodesAndTheEstimateIsKept) {
  const auto found = when();
  ASSERT_TRUE(found.is_object());
  const auto& best = found.at("shapes")[0];
  EXPECT_EQ(value_at<int>(best, "nodes"), 4) << "the work is taken to scale";
  EXPECT_EQ(value_at<int>(best, "batch_per_rank"), 4);
  EXPECT_LE(value_at<int>(found, "sbatch_calls"), 20);
  std::set<std::string> partitions;
  for (const auto& one : found.at("shapes")) {
    EXPECT_LE(value_at<double>(one, "start") - value_at<double>(found, "now"), 60);
    partitions.insert(value_at<std::string>(one, "partition"));
  }
  EXPECT_THAT(partitions, testing::ElementsAre("batch", "short"));

  const auto ended = work_->run({"run", job_, "--soonest", "--run-dir", work_->run_dir()});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("dllaunch: soonest: 4 nodes of 1 rank, batch 4"));
  EXPECT_THAT(ended.out, HasSubstr("completed: 4 ranks"));
  EXPECT_TRUE(fs::exists(work_->run_dir() + "/estimate.json"));
  EXPECT_EQ(unexplained_files(work_->run_dir()), std::vector<std::string>());
  const auto after = when();
  EXPECT_EQ(value_at<int>(after.at("estimates"), "runs"), 1);
  EXPECT_TRUE(value_at<bool>(after, "measured")) << "the run tells how long the work takes";
  const auto again = work_->run({"run", job_, "--soonest", "--run-dir", work_->run_dir()});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("this one has its own"));
  EXPECT_THAT(again.err, HasSubstr("dllaunch run " + work_->run_dir()));
}

/// Two nodes are free for 29 minutes, until a job of all four is planned; then all are taken for an
/// hour. The job of 30 minutes fits only behind it, two slices fit before and after.
TEST_F(SlurmSoonest, ABlockedClusterTakesSlicesThatFitBefore) {
  submit(2, 29);
  submit(4, 60);
  ASSERT_TRUE(planned(1)) << cluster_->on_head({"squeue"});
  const auto found = when({"--set", "resources.time=100"});
  ASSERT_TRUE(found.is_object());
  EXPECT_TRUE(value_at<bool>(found, "backfill_known"));
  EXPECT_LE(value_at<int>(found, "sbatch_calls"), 20);
  bool sliced = false;
  for (const auto& one : found.at("shapes")) {
    const double wait = value_at<double>(one, "start") - value_at<double>(found, "now");
    const bool fits = value_at<int>(one, "nodes") <= 2 && value_at<int>(one, "limit_minutes") < 29;
    EXPECT_EQ(fits, wait < 60) << one.dump();
    if (value_at<bool>(one, "as_written")) {
      EXPECT_GT(wait, 80 * 60) << "behind all that waits";
    }
    sliced = sliced || value_at<int>(one, "slices") > 1;
  }
  EXPECT_TRUE(sliced);
  const auto text = work_->run({"when", job_});
  EXPECT_THAT(text.out, HasSubstr("if backfilled"));
}

/// To her the nodes look free of jobs, and are not.
TEST_F(SlurmSoonest, WhoSeesNoJobsOfOthersGetsSlurmsAnswerAlone) {
  submit(4, 29);
  submit(4, 60);
  ASSERT_TRUE(planned(1)) << cluster_->on_head({"squeue"});
  fs::permissions(work_->path(), fs::perms::all);
  work_->before = cluster_->login("alice");
  const auto found = when();
  ASSERT_TRUE(found.is_object());
  EXPECT_FALSE(value_at<bool>(found, "backfill_known", true));
  for (const auto& one : found.at("shapes")) {
    EXPECT_TRUE(one.at("backfill_start").is_null());
    // Slurm adds up what waits in the same partition.
    const bool batch = value_at<std::string>(one, "partition") == "batch";
    EXPECT_GT(value_at<double>(one, "start") - value_at<double>(found, "now"),
              (batch ? 80 : 27) * 60);
  }
}

TEST_F(SlurmSoonest, WhatCannotRunIsSaid) {
  EXPECT_EQ(work_->run({"when", job_, "--set", "resources.nodes=9"}).exit_code, 3);
  const auto array = work_->run({"when", job_, "--set", "array=0-3"});
  EXPECT_EQ(array.exit_code, 2) << array.err;
  const auto fixed = when({"--set", "resources.sbatch_extra=[\"-t 7\"]"});
  ASSERT_EQ(fixed.at("shapes").size(), 1u) << "the option would beat the limit of other shapes";
  EXPECT_EQ(value_at<int>(fixed.at("shapes")[0], "limit_minutes"), 7);
  EXPECT_FALSE(value_at<bool>(fixed, "backfill_known", true));
  work_->before.clear();
  const auto local = work_->run({"when", job_});
  EXPECT_NE(local.exit_code, 0);
  EXPECT_THAT(local.err, HasSubstr("there is no queue here"));
}

}  // namespace
}  // namespace dllaunch
