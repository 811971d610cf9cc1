#include "launcher/slurm/refusals.hpp"

#include <gtest/gtest.h>

#include <set>

namespace dllaunch {
namespace {

TEST(Refusals, AreFoundInWhatSlurmPrints) {
  const auto* found = refusal_in(
      "sbatch: error: Batch job submission failed: Requested node configuration is not available");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->says, "Requested node configuration is not available");
  EXPECT_EQ(refusal_in("sbatch: error: something new"), nullptr);
  EXPECT_EQ(refusal_in(""), nullptr);
}

TEST(Refusals, TheLongestOfSeveralDecides) {
  const auto* found = refusal_in(
      "sbatch: error: invalid partition specified: gpus\n"
      "sbatch: error: Batch job submission failed: Invalid partition name specified\n");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->says, "Invalid partition name specified");
}

TEST(Refusals, TheReasonDecidesWhereOneFollows) {
  const std::string head = "srun: error: Unable to allocate resources";
  for (const std::string reason : {"Invalid qos specification", "Invalid wckey specification",
                                   "Requested node configuration is not available"}) {
    const auto* found = refusal_in(head + ": " + reason);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->says, reason);
  }
  const auto* found = refusal_in(head + ": something new");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->says, "Unable to allocate resources");
}

TEST(Refusals, SayWhatToDo) {
  EXPECT_EQ(next_step("MaxJobCount limit reached", "x"), "submit again later");
  EXPECT_EQ(next_step("something new", "x"), "x");
  std::set<std::string_view> known;
  for (const SlurmRefusal& one : slurm_refusals()) {
    EXPECT_TRUE(known.insert(one.says).second) << one.says;
    EXPECT_FALSE(one.means.empty() || one.next.empty()) << one.says;
    EXPECT_GE(one.says.size(), 14u) << "so that it is found in nothing else";
  }
}

}  // namespace
}  // namespace dllaunch
