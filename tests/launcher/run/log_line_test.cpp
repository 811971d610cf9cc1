#include "launcher/run/log_line.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(LogLine, TheNameOfALogSaysWhoseItIs) {
  const auto rank = log_source("rank-0003-n1.log");
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->rank, 3);
  EXPECT_EQ(rank->node, "n1");
  const auto node = log_source("nid0012.log");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->rank, -1);
  EXPECT_EQ(node->node, "nid0012");
  const auto dashed = log_source("rank-12345-gpu-a-07.log");
  ASSERT_TRUE(dashed);
  EXPECT_EQ(dashed->node, "gpu-a-07");
  for (const char* other : {"mpirun.log", "spawn.log", "dllaunch.log", ".log", ".hidden.log",
                            "rank-x-n1.log", "rank-3.log", "notes.txt", ""}) {
    EXPECT_FALSE(log_source(other)) << other;
  }
}

TEST(LogLine, SrunThatWaitsForTheJobsOwnResources) {
  for (const char* word : {"temporarily", "still"})
    EXPECT_TRUE(waits_for_a_step(std::string("srun: Job 12 step creation ") + word +
                                 " disabled, retrying (Requested nodes are busy)"));
  EXPECT_FALSE(waits_for_a_step("srun: Step created for StepId=12.1"));
  EXPECT_FALSE(waits_for_a_step("step creation temporarily disabled, retrying"));
}

TEST(LogLine, LabelsOfSrunAndMpirun) {
  EXPECT_EQ(split_label("   7: hello: you").rank, 7);
  EXPECT_EQ(split_label("   7: hello: you").text, "hello: you");
  EXPECT_EQ(split_label("511:").rank, 511);
  EXPECT_EQ(split_label("511:").text, "");
  EXPECT_EQ(split_label("[1,12]<stderr>:oops").rank, 12);
  EXPECT_EQ(split_label("[1,12]<stderr>:oops").text, "oops");
  for (const char* none :
       {"plain", "", "12 apples", "[1,x]<stdout>:a", "[1,2] a", "-3: a", "99999999999: a", ":"}) {
    EXPECT_EQ(split_label(none).rank, -1) << none;
    EXPECT_EQ(split_label(none).text, none);
  }
}

}  // namespace
}  // namespace dllaunch
