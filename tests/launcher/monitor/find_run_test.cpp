#include "launcher/monitor/find_run.hpp"

#include <gtest/gtest.h>

#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

class FindRunTest : public testing::Test {
 protected:
  FindRunTest() {
    old_ = place_.store({.folder = "runs/cnn-20261120-101500-aaaa", .job_id = "7"});
    new_ = place_.store({.folder = "runs/cnn-20261121-101500-bbbb", .job_id = "12"});
    other_ = place_.store({.folder = "runs/cnn-wide-20261121-101500-cccc", .job_id = "74"});
    chosen_ = place_.store({.folder = "scratch/mine", .name = "by hand"});
  }
  std::string find(const std::string& query) {
    const auto found = find_run(place_.system, query);
    return found ? *found : "none: " + found.error().what;
  }

  RunPlace place_;
  std::string old_, new_, other_, chosen_;
};

TEST_F(FindRunTest, ByDirectory) {
  EXPECT_EQ(find(old_), old_);
  EXPECT_EQ(find(old_ + "/"), old_);
  EXPECT_EQ(find(place_.path_of("runs/../scratch/./mine")), chosen_);
}

TEST_F(FindRunTest, ByNameTheNewest) {
  EXPECT_EQ(find("cnn"), new_);
  EXPECT_EQ(find("cnn-wide"), other_);
  EXPECT_EQ(find("by hand"), chosen_);
  EXPECT_EQ(find("mine"), chosen_);
}

TEST_F(FindRunTest, ByJobAndTask) {
  EXPECT_EQ(find("7"), old_);
  EXPECT_EQ(find("74"), other_);
  EXPECT_EQ(find("74_3"), other_);
}

TEST_F(FindRunTest, ByAPrefixThatOnlyOneHas) {
  EXPECT_EQ(find("cnn-20261120"), old_);
  EXPECT_EQ(find("cnn-20261121-101500-bbbb"), new_);
  EXPECT_EQ(find("cnn-2026"),
            "none: 'cnn-2026' is ambiguous: cnn-20261121-101500-bbbb, cnn-20261120-101500-aaaa");
}

TEST_F(FindRunTest, WhatIsNotThereIsSaid) {
  EXPECT_EQ(find("cmn"),
            "none: no run 'cmn': no such run directory, name or job id; did you mean cnn?");
  EXPECT_EQ(find("4711"), "none: no run '4711': no such run directory, name or job id");
  EXPECT_EQ(find("").substr(0, 12), "none: no run");
  EXPECT_EQ(find("/").substr(0, 12), "none: no run");
}

TEST_F(FindRunTest, SlurmKnowsWhereAJobsOutputGoes) {
  place_.system.answers["scontrol show job 99"] = {
      0,
      "JobId=99 JobName=x\n   JobState=RUNNING Reason=None\n   StdOut=" + old_ +
          "/out/slurm-99.out\n",
      ""};
  EXPECT_EQ(find("99"), old_);
}

TEST(FindRun, JobOfTask) {
  EXPECT_EQ(job_of_task("74"), "74");
  EXPECT_EQ(job_of_task("74_12"), "74");
  for (const char* none : {"", "_3", "74_", "74_x", "x", "7 4"}) EXPECT_EQ(job_of_task(none), "");
}

}  // namespace
}  // namespace dllaunch
