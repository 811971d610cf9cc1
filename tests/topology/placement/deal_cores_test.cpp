#include "topology/placement/deal_cores.hpp"

#include <gtest/gtest.h>

#include "tests/topology/node/machines.hpp"

namespace dllaunch {
namespace {

DealtCores deal(const Topology& topology, int ranks, const PlacementRequest& request = {}) {
  const UsableNode node(topology, topology.allowed_cpus);
  return deal_cores(
      node,
      seat_ranks(node, ranks, static_cast<int>(topology.gpus.size()), request.order, request.mode),
      request);
}

std::vector<std::string> lists(const DealtCores& dealt) {
  std::vector<std::string> out;
  for (const auto& cpus : dealt.cpus) out.push_back(to_list(cpus));
  return out;
}

using Lists = std::vector<std::string>;

TEST(DealCores, FirstThreadsOnlyUnlessAsked) {
  const auto node = machine("packages:2 cores:4 threads:2 gpus:2");
  EXPECT_EQ(lists(deal(node, 2)), (Lists{"0-3", "4-7"}));
  EXPECT_EQ(lists(deal(node, 2, {.smt = true})), (Lists{"0-3,8-11", "4-7,12-15"}));
}

TEST(DealCores, HybridCoresCountAsOneEach) {
  const auto node = fixture("hybrid-cores.json");
  EXPECT_EQ(lists(deal(node, 2)), (Lists{"0,2,4,6,8,10,12", "13-19"}));
  EXPECT_EQ(lists(deal(node, 2, {.smt = true})), (Lists{"0-12", "13-19"}));
}

TEST(DealCores, ModeCoreTakesOne) {
  const auto node = machine("numa:2 cores:4 threads:2 gpus:2");
  EXPECT_EQ(lists(deal(node, 2, {.mode = BindMode::core})), (Lists{"0", "4"}));
  EXPECT_EQ(lists(deal(node, 2, {.mode = BindMode::core, .smt = true})), (Lists{"0,8", "4,12"}));
}

TEST(DealCores, FewerCoresAreCloseOrSpread) {
  const auto node = machine("l3:2 cores:4 gpus:1");
  EXPECT_EQ(lists(deal(node, 1, {.cores_per_rank = 2})), (Lists{"0-1"}));
  EXPECT_EQ(lists(deal(node, 1, {.cores_per_rank = 2, .policy = BindPolicy::spread})),
            (Lists{"0,4"}));
}

TEST(DealCores, WarnsIfLocalCoresAreFewerThanRequested) {
  const auto node = fixture("gpus-on-one-package.json");
  const auto dealt = deal(node, 2, {.cores_per_rank = 12, .cores = BindCores::near});
  EXPECT_EQ(lists(dealt), (Lists{"0-8", "9-17"}));
  EXPECT_EQ(dealt.warnings,
            (Lists{"ranks 0-1 get fewer than the 12 cores asked for: no more are local to their "
                   "GPUs"}));
}

TEST(DealCores, RequestedCoresMayBeFar) {
  const auto dealt = deal(fixture("gpus-on-one-package.json"), 2, {.cores_per_rank = 12});
  EXPECT_EQ(lists(dealt), (Lists{"0-8,18-20", "9-17,21-23"}));
  EXPECT_EQ(to_list(dealt.far[0]), "18-20");
  EXPECT_EQ(dealt.warnings, Lists{});
}

TEST(DealCores, FarCoresComeBeforeThreadsAndSharing) {
  auto node = machine("cores:6 threads:2 gpus:1");
  node.gpus[0].cpus = {0, 1, 6, 7};
  EXPECT_EQ(lists(deal(node, 3)), (Lists{"0", "1", "7"})) << "two ranks on one core";
  const auto filled = deal(node, 3, {.cores = BindCores::fill});
  EXPECT_EQ(lists(filled), (Lists{"0,2", "1,3", "4-5"}));
  EXPECT_EQ(filled.warnings, Lists{});
  EXPECT_EQ(lists(deal(node, 8, {.cores = BindCores::fill})),
            (Lists{"0", "1", "2", "3", "4", "10", "5", "11"}))
      << "threads of the whole node where its cores are too few";
}

TEST(DealCores, AssignsThreadsBeforeSharing) {
  const auto node = machine("cores:2 threads:2 gpus:1");
  const auto three = deal(node, 3);
  EXPECT_EQ(lists(three), (Lists{"0", "1", "3"}));
  EXPECT_EQ(three.warnings,
            (Lists{"ranks 1-2 are on hardware threads of the same cores: fewer whole cores are "
                   "local to them"}));
  EXPECT_EQ(lists(deal(node, 4)), (Lists{"0", "2", "1", "3"}));
}

TEST(DealCores, SharesWithAWarning) {
  const auto dealt = deal(machine("cores:2 gpus:1"), 3);
  EXPECT_EQ(lists(dealt), (Lists{"0", "0", "1"}));
  EXPECT_EQ(dealt.warnings, (Lists{"ranks 0-1 share CPU 0: fewer usable CPUs are local to them"}));
}

TEST(DealCores, ACrowdedNodeLeavesOthersAlone) {
  auto node = machine("numa:2 cores:4 gpus:2");
  node.allowed_cpus -= IdSet::range(1, 3);
  const auto dealt = deal(node, 4);  // ranks 0 and 2 on GPU 0, ranks 1 and 3 on GPU 1
  EXPECT_EQ(lists(dealt), (Lists{"0", "4-5", "0", "6-7"}));
  EXPECT_EQ(dealt.warnings, (Lists{"ranks 0,2 share CPU 0: fewer usable CPUs are local to them"}));
}

TEST(DealCores, AGpuOfUnknownLocalityTakesWhatIsLeft) {
  EXPECT_EQ(lists(deal(fixture("one-gpu-off-the-root.json"), 4)),
            (Lists{"0-7", "8-15", "16-23", "24-31"}));
}

TEST(DealCores, ACrowdInsideAWiderDomainTakesNothingOfIt) {
  auto node = machine("cores:8 threads:2 gpus:2");
  node.gpus[0].cpus = {0, 8};
  // Ranks 0, 2, 4 on a GPU with one local core; ranks 1, 3 on one to which all cores are local.
  const auto dealt = deal(node, 5);
  EXPECT_EQ(lists(dealt), (Lists{"0", "1-4", "0", "5-7", "8"}));
}

TEST(DealCores, ModeNumaDividesTheNodeInOrderOfGpus) {
  // GPU 0 is near the second L3, GPU 1 near the first.
  auto node = machine("l3:2 cores:4 gpus:2");
  node.gpus[0].cpus = IdSet::range(4, 7);
  node.gpus[1].cpus = IdSet::range(0, 3);
  EXPECT_EQ(lists(deal(node, 2, {.mode = BindMode::numa})), (Lists{"4-7", "0-3"}));
}

TEST(DealCores, ACoreSplitBetweenDomainsIsDealtByThread) {
  auto node = machine("cores:2 threads:2 gpus:2");
  node.gpus[0].cpus = {0, 1};
  node.gpus[1].cpus = {2, 3};
  const auto dealt = deal(node, 2);
  EXPECT_EQ(lists(dealt), (Lists{"0-1", "2-3"}));
}

TEST(DealCores, DescribesSharing) {
  EXPECT_EQ(describe_sharing({{0, 1}, {1, 2}, {3}}, {0, 1, 2}), "ranks 0-1 share CPU 1");
  EXPECT_EQ(describe_sharing({{0, 1}, {0, 1}}, {0, 1}), "ranks 0-1 share CPUs 0-1");
  EXPECT_EQ(describe_sharing({{0}, {1}}, {0, 1}), "");
}

}  // namespace
}  // namespace dllaunch
