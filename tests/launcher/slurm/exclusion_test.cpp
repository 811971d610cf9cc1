#include "launcher/slurm/exclusion.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <random>

#include "launcher/slurm/host_list.hpp"
#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

std::vector<std::string> hosts(const std::string& list) {
  return *expand_hosts(list);
}

TEST(Exclusion, AddsToWhatTheUserAndOthersLeftOut) {
  EXPECT_EQ(nodes_to_exclude({.fresh = "n2"}, "", {}), "n2");
  EXPECT_EQ(nodes_to_exclude({.fresh = "n2", .needed = 2}, "n[7-8]", hosts("n[1-9]")), "n[2,7-8]");
  EXPECT_EQ(nodes_to_exclude({.fresh = "n2", .by_user = "n8"}, "n8", hosts("n[1-9]")), "n[2,8]");
  EXPECT_EQ(nodes_to_exclude({.fresh = "n2", .by_user = "n8"}, "", hosts("n[1-9]")), "n2")
      << "the user removed n8 from the list";
}

/// The next start would meet the first again, and after three in a row the job is given up.
TEST(Exclusion, TwoBadOfEightWhereFourAreNeeded) {
  const Exclusion second{.fresh = "n2", .earlier = {"n1", "n2"}, .chain = 2, .needed = 4};
  EXPECT_EQ(nodes_to_exclude(second, "n1", hosts("n[1-8]")), "n[1-2]");
  const Exclusion many{.fresh = "n6", .earlier = {"n1", "n[2-5]"}, .chain = 1, .needed = 4};
  EXPECT_EQ(nodes_to_exclude(many, "n[1-5]", hosts("n[1-8]")), "n[2-4,6]") << "four are left";
  EXPECT_EQ(nodes_to_exclude({.fresh = "n3", .earlier = {"n1", "n2"}, .chain = 1, .needed = 2},
                             "n[1-2]", hosts("n[1-8]")),
            "n[2-3]")
      << "ranks have started since n1";
}

TEST(Exclusion, TheOldestIsForgotten) {
  const Exclusion third{.fresh = "n3", .earlier = {"n1", "n2"}, .by_user = "n9", .needed = 2};
  EXPECT_EQ(nodes_to_exclude(third, "n[1-2,9]", hosts("n[1-20]")), "n[2-3,9]") << "a tenth: two";
  EXPECT_EQ(nodes_to_exclude(third, "n[1-2,9]", hosts("n[1-30]")), "n[1-3,9]") << "three";
  EXPECT_EQ(nodes_to_exclude(third, "n[1-2,9]", {}), "n[1-3,9]") << "Slurm does not answer";
  EXPECT_EQ(nodes_to_exclude(third, "n[1,9]", hosts("n[1-30]")), "n[1,3,9]")
      << "the user removed n2 from the list";
}

TEST(Exclusion, NeverLeavesTooFewForTheJob) {
  EXPECT_EQ(nodes_to_exclude({.fresh = "n[1-2]", .needed = 3}, "", hosts("n[1-4]")), "n1");
  EXPECT_EQ(nodes_to_exclude({.fresh = "n1", .needed = 4}, "", hosts("n[1-4]")), "");
  // One that cannot start jobs anyway.
  EXPECT_EQ(nodes_to_exclude({.fresh = "n5", .needed = 4}, "", hosts("n[1-4]")), "n5");
  EXPECT_EQ(nodes_to_exclude({.fresh = "n1", .earlier = {"n1", "n2", "n1"}, .needed = 3}, "n[1-2]",
                             hosts("n[1-4]")),
            "n1");
}

/// However often nodes are unfit, and whatever the lists say.
TEST(Exclusion, IsBoundedOverManyRequeues) {
  std::mt19937 random(1);
  for (int round = 0; round < rounds_here(100); ++round) {
    const auto size = 1 + random() % 40;
    const auto all = hosts(fmt::format("n[1-{}]", size));
    Exclusion wanted{.by_user = random() % 2 == 0 ? "n1" : "", .needed = 1 + random() % size};
    std::string now = wanted.by_user;
    for (int requeue = 0; requeue < 50; ++requeue) {
      wanted.fresh = random() % 20 == 0 ? "n[" : fmt::format("n{}", 1 + random() % size);
      wanted.chain = std::min<std::size_t>(wanted.earlier.size(), random() % 4);
      now = nodes_to_exclude(wanted, now, all);
      const auto out = hosts(now);
      EXPECT_LE(out.size(), 1 + std::max<std::size_t>(1 + wanted.chain, (size + 9) / 10));
      EXPECT_GE(size - out.size() + (wanted.by_user.empty() ? 0 : 1), wanted.needed);
      wanted.earlier.push_back(wanted.fresh);
    }
  }
}

}  // namespace
}  // namespace dllaunch
