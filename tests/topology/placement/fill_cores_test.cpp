#include "topology/placement/fill_cores.hpp"

#include <gtest/gtest.h>

#include "tests/topology/node/machines.hpp"
#include "tests/topology/placement/invariants.hpp"
#include "topology/render/masks.hpp"

namespace dllaunch {
namespace {

using Lists = std::vector<std::string>;

Lists lists(const Placement& placement) {
  Lists all;
  for (const auto& rank : placement.ranks) all.push_back(to_list(rank.cpus));
  return all;
}

Lists far(const Placement& placement) {
  Lists all;
  for (const auto& rank : placement.ranks) all.push_back(to_list(rank.far));
  return all;
}

TEST(FillCores, NearCoresAloneLeaveHalfOfLeonardosNodeIdleAndSaySo) {
  const auto node = fixture("leonardo-booster.json");
  for (const auto mode : {BindMode::cores, BindMode::numa}) {
    const auto plain = placed(node, {.mode = mode});
    EXPECT_EQ(lists(plain), (Lists{"0-3", "4-7", "8-11", "12-15"}));
    EXPECT_EQ(plain.idle,
              "16 of 32 usable cores stay idle (CPUs 16-31): no GPU of these ranks is near them");
    EXPECT_EQ(plain.reach, "");
  }
  EXPECT_EQ(placed(node, {.cores = BindCores::near}).idle, "") << "asked for";
  EXPECT_EQ(placed(node, {.mode = BindMode::core}).idle, "") << "asked for";
}

TEST(FillCores, FillsLeonardosNodeNearCoresFirst) {
  const auto node = fixture("leonardo-booster.json");
  const Lists eight{"0-3,16-19", "4-7,20-23", "8-11,24-27", "12-15,28-31"};
  for (const auto mode : {BindMode::cores, BindMode::numa}) {
    const auto filled = placed(node, {.mode = mode, .cores = BindCores::fill});
    EXPECT_EQ(lists(filled), eight);
    EXPECT_EQ(far(filled), (Lists{"16-19", "20-23", "24-27", "28-31"}));
    EXPECT_EQ(filled.idle, "");
    EXPECT_EQ(filled.warnings, Lists{});
  }
  EXPECT_EQ(placed(node, {.cores = BindCores::fill}).reach,
            "near cores first, then far ones for ranks 0-3 (CPUs 16-31): cores: fill leaves none "
            "idle");
}

TEST(FillCores, GivesRequestedCoresWithTheReason) {
  const auto node = fixture("leonardo-booster.json");
  const auto eight = placed(node, {.cores_per_rank = 8});
  EXPECT_EQ(lists(eight), lists(placed(node, {.cores = BindCores::fill})));
  EXPECT_EQ(eight.warnings, Lists{});
  EXPECT_EQ(eight.reach,
            "near cores first, then far ones for ranks 0-3 (CPUs 16-31): 8 cores per rank were "
            "requested, fewer are near");
  EXPECT_EQ(eight.ranks[0].why,
            "4 of 16 usable cores local to GPU 0 (0000:10:00.0) on NUMA node 0, which 4 ranks "
            "divide, then 4 farther on NUMA node 1");
  EXPECT_EQ(lists(placed(node, {.cores_per_rank = 6})),
            (Lists{"0-3,16-17", "4-7,18-19", "8-11,20-21", "12-15,22-23"}));
  EXPECT_EQ(lists(placed(node, {.cores_per_rank = 3})), (Lists{"0-2", "4-6", "8-10", "12-14"}));
  const auto near = placed(node, {.cores_per_rank = 8, .cores = BindCores::near});
  EXPECT_EQ(lists(near), (Lists{"0-3", "4-7", "8-11", "12-15"}));
  EXPECT_EQ(near.warnings.size(), 1u) << "fewer than asked for";
}

// As on JUWELS Booster: GPUs near NUMA nodes 3, 1, 7 and 5 of eight.
TEST(FillCores, TheNearestOfTheFarOnes) {
  auto node = machine("packages:2 numa:4 cores:6 threads:2 gpus:4");
  const int beside[] = {3, 1, 7, 5};
  for (std::size_t g = 0; g < 4; ++g) {
    node.gpus[g].numa = {beside[g]};
    node.gpus[g].cpus = node.numa[static_cast<std::size_t>(beside[g])].cpus;
  }
  EXPECT_EQ(lists(placed(node, {.cores = BindCores::fill})),
            (Lists{"0-5,18-23", "6-17", "24-29,42-47", "30-41"}))
      << "from its own package";
}

TEST(FillCores, TotalsAreEvenWhereNearSharesAreNot) {
  // Three GPUs near the first of four NUMA nodes, one near the third.
  auto node = machine("packages:2 numa:2 cores:6 gpus:4");
  for (std::size_t g = 0; g < 3; ++g) node.gpus[g].cpus = node.numa[0].cpus;
  node.gpus[3].cpus = node.numa[2].cpus;
  const auto filled = placed(node, {.cores = BindCores::fill});
  EXPECT_EQ(lists(filled), (Lists{"0-1,6-7,18-19", "2-3,8-9,20-21", "4-5,10-11,22-23", "12-17"}));
}

TEST(FillCores, NothingIsLeftToFillWhereEveryCoreIsNear) {
  const auto node = fixture("eight-gcds-low-noise.json");
  EXPECT_EQ(lists(placed(node, {.cores = BindCores::fill})), lists(placed(node, {})));
  EXPECT_EQ(placed(node, {.cores = BindCores::fill}).reach, "");
}

TEST(FillCores, AllThreadsOfAFarCoreWithSmt) {
  const auto node = fixture("gpus-on-one-package.json");
  EXPECT_EQ(lists(placed(node, {.cores = BindCores::fill, .smt = true})),
            (Lists{"0-8,18-26,36-44,54-62", "9-17,27-35,45-53,63-71"}));
}

TEST(FillCores, AJobWithFewerGpusGetsTheWholeNodeToo) {
  const auto node = fixture("leonardo-booster.json");
  EXPECT_EQ(lists(placed(node, {.gpus = 1, .cores = BindCores::fill})), (Lists{"0-31"}));
  EXPECT_EQ(lists(placed(node, {.gpus = 1})), (Lists{"0-15"}));
}

}  // namespace
}  // namespace dllaunch
