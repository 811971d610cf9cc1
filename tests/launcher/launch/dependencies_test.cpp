#include "launcher/launch/dependencies.hpp"

#include <gtest/gtest.h>

#include "launcher/run/run_dir.hpp"
#include "launcher/slurm/scontrol_parser.hpp"
#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

using Words = std::vector<std::string>;

class DependenciesTest : public testing::Test {
 protected:
  void queue(const std::string& id, const std::string& text) {
    place_.system
        .answers["squeue --noheader --format=" + std::string(queue_format) + " --jobs=" + id] = {
        0, text, ""};
  }
  void record(const std::string& id, const std::string& state) {
    place_.system.answers["scontrol show job " + id] = {
        0, "JobId=" + id + " JobName=x\n   JobState=" + state + " Reason=None\n   ExitCode=0:0\n",
        ""};
  }
  std::string problem(const std::string& entry) {
    const auto dependencies = resolve_dependencies(place_.system, {entry});
    return dependencies ? "none" : dependencies.error().what;
  }

  RunPlace place_;
};

TEST_F(DependenciesTest, RunsBecomeTheirJobs) {
  place_.store({.folder = "runs/prepare-20261121-101500-aaaa", .job_id = "7"});
  queue("7", "7|RUNNING|N/A|0:05|n1|None\n");
  queue("12", "12|PENDING|N/A|0:00||Priority\n");
  queue("74_3", "74_3|RUNNING|N/A|0:05|n1|None\n");
  const auto dependencies = resolve_dependencies(place_.system, {"prepare", "12", "74_3"});
  ASSERT_TRUE(dependencies) << dependencies.error().what;
  EXPECT_EQ(dependencies->jobs, Words({"7", "12", "74_3"}));
  EXPECT_TRUE(dependencies->notes.empty());
  EXPECT_TRUE(resolve_dependencies(place_.system, {})->jobs.empty());
}

TEST_F(DependenciesTest, WhatSucceededIsNotWaitedFor) {
  place_.store({.folder = "runs/done-20261121-101500-aaaa", .job_id = "7", .status = "completed"});
  place_.store({.folder = "runs/here-20261121-101500-aaaa", .status = "completed"});
  queue("12", "");
  record("12", "COMPLETED");
  const auto dependencies = resolve_dependencies(place_.system, {"done", "here", "12"});
  ASSERT_TRUE(dependencies) << dependencies.error().what;
  EXPECT_TRUE(dependencies->jobs.empty());
  EXPECT_EQ(dependencies->notes,
            Words({"after: done has completed already", "after: here has completed already",
                   "after: job 12 has completed already"}));
}

TEST_F(DependenciesTest, WhatFailedIsSaidBeforeTheQueue) {
  const auto path =
      place_.store({.folder = "runs/bad-20261121-101500-aaaa", .job_id = "7", .status = "failed"});
  EXPECT_EQ(problem("bad"),
            "after: bad is failed (" + path + "): a job that waits for it would never start");
  queue("12", "");
  record("12", "TIMEOUT");
  EXPECT_EQ(problem("12"), "after: 12 ended as TIMEOUT: a job that waits for it would never start");
}

TEST_F(DependenciesTest, ReportsAnUnknownRun) {
  queue("13", "");
  EXPECT_EQ(problem("13"), "after: 13 is not a run of yours, and Slurm has no such job (any more)");
  EXPECT_EQ(problem("nothing"), "after: no run 'nothing': no such run directory, name or job id");
  place_.store({.folder = "mine"});
  const auto lock = RunLock::take({.path = place_.path_of("mine")});
  EXPECT_EQ(problem("mine"), "after: mine runs without Slurm, which cannot wait for it");
}

}  // namespace
}  // namespace dllaunch
