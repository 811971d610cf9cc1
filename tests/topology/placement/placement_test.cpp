#include "topology/placement/placement.hpp"

#include <gtest/gtest.h>

#include "tests/topology/node/machines.hpp"
#include "tests/topology/placement/invariants.hpp"
#include "topology/node/synthetic.hpp"
#include "topology/render/masks.hpp"

namespace dllaunch {
namespace {

std::vector<std::string> lists(const Placement& placement) {
  std::vector<std::string> out;
  for (const auto& rank : placement.ranks) out.push_back(to_list(rank.cpus));
  return out;
}

using Lists = std::vector<std::string>;

std::string refusal(const Topology& topology, const PlacementRequest& request) {
  const auto placement = place_ranks(topology, request);
  return placement ? "none" : placement.error().what;
}

constexpr auto lumi_masks =
    "mask_cpu:0xfe000000000000,0xfe00000000000000,0xfe0000,0xfe000000,0xfe,0xfe00,0xfe00000000,"
    "0xfe0000000000";

TEST(Placement, PutsEachRankBesideItsGpu) {
  const auto placement = placed(fixture("eight-gcds-low-noise.json"), {});
  EXPECT_EQ(srun_cpu_bind(placement), lumi_masks);
  EXPECT_EQ(srun_map_cpu(placement), "map_cpu:49,57,17,25,1,9,33,41");
  EXPECT_TRUE(placement.warnings.empty());
  EXPECT_EQ(placement.ranks[0].numa, IdSet{3});
  EXPECT_EQ(placement.ranks[0].why,
            "7 of 7 usable cores local to GPU 0 (0000:c1:00.0) on NUMA node 3");
}

TEST(Placement, RanksRunAlongNumaNodesWhenAsked) {
  const auto placement = placed(fixture("eight-gcds-low-noise.json"), {.order = RankOrder::numa});
  EXPECT_EQ(lists(placement),
            (Lists{"1-7", "9-15", "17-23", "25-31", "33-39", "41-47", "49-55", "57-63"}));
  EXPECT_EQ(placement.ranks[0].gpus, std::vector{4});
}

TEST(Placement, OneRankDrivesAllGpus) {
  const auto placement = placed(machine("packages:2 cores:4 gpus:4"), {.ranks = 1});
  EXPECT_EQ(placement.ranks[0].gpus, (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(lists(placement), Lists{"0-7"});
  EXPECT_EQ(placement.ranks[0].why, "8 of 8 usable cores local to GPUs 0,1,2,3 on NUMA nodes 0-1");
}

TEST(Placement, UsesOnlyTheFirstGpusWhenAsked) {
  const auto node = machine("numa:4 cores:4 gpus:4");
  EXPECT_EQ(lists(placed(node, {.gpus = 2})), (Lists{"0-3", "4-7"}));
  EXPECT_EQ(lists(placed(node, {.gpus = 0})), (Lists{"0-3", "4-7", "8-11", "12-15"}));
  EXPECT_EQ(refusal(node, {.gpus = 5}), "asked for 5 GPUs, the node has 4");
}

TEST(Placement, WithoutGpusOneRankANumaNode) {
  const auto uneven = [] {
    auto node = machine("numa:2 cores:4");
    node.allowed_cpus.erase(6);
    node.allowed_cpus.erase(7);
    return node;
  }();
  EXPECT_EQ(lists(placed(uneven, {})), (Lists{"0-3", "4-5"}));
  EXPECT_EQ(placed(uneven, {}).ranks[1].why, "no GPU: 2 of 2 usable cores on NUMA node 1");
  EXPECT_EQ(lists(placed(uneven, {.ranks = 3})), (Lists{"0-1", "2-3", "4-5"}));
  EXPECT_EQ(lists(placed(uneven, {.ranks = 6})), (Lists{"0", "1", "2", "3", "4", "5"}));
}

TEST(Placement, MemoryOnlyNodesGetNoRank) {
  EXPECT_EQ(placed(fixture("hbm-flat.json"), {.gpus = 0}).ranks.size(), 2u);
}

TEST(Placement, UnevenGpusShareUnevenly) {
  EXPECT_EQ(lists(placed(fixture("gpus-3-1-3-1.json"), {})),
            (Lists{"0-3", "4-7", "8-11", "12-23", "24-27", "28-31", "32-35", "36-47"}));
}

TEST(Placement, PartitionsAreGpusOfTheirOwn) {
  const auto placement = placed(fixture("six-partitions-a-device.json"), {});
  ASSERT_EQ(placement.ranks.size(), 24u);
  EXPECT_EQ(to_list(placement.ranks[7].cpus), "28-31");
  EXPECT_EQ(placement.ranks[7].nic, "hsn1");
}

TEST(Placement, SparseNumbersAreNumbersLikeOthers) {
  const auto placement = placed(fixture("sparse-numbers-smt4.json"), {});
  EXPECT_EQ(to_list(placement.ranks[2].cpus), "96,100,104,108,112,116,120,124,128,132");
  EXPECT_EQ(placement.ranks[2].numa, IdSet{8});
  EXPECT_EQ(to_list(placed(fixture("sparse-numbers-smt4.json"), {.smt = true}).ranks[0].cpus),
            "8-47");
}

TEST(Placement, WidensWithAWarningIfNothingLocalIsLeft) {
  const auto placement = placed(fixture("nothing-local-left.json"), {});
  EXPECT_EQ(lists(placement)[0], "4-7");
  EXPECT_EQ(placement.warnings,
            (Lists{"rank 0: no CPU local to GPU 0 (0000:10:00.0) is usable, so it gets CPUs 4-7 of "
                   "NUMA node 0"}));
}

TEST(Placement, NeedsNoMemoryBesideItsCpus) {
  const auto node = fixture("memory-elsewhere.json");
  const auto placement = placed(node, {});
  EXPECT_EQ(lists(placement), Lists{"0-3"}) << "the GPU's own CPUs are not allowed";
  EXPECT_EQ(srun_mem_bind(node, placement), "none");
}

TEST(Placement, ReservesTheFirstCoreOfEachL3) {
  const auto node = machine("numa:4 l3:2 cores:8 threads:2 gpus:8");
  const auto placement = placed(node, {.reserve = "first-core-per-l3"});
  EXPECT_EQ(placement.ranks.size(), 8u);
  EXPECT_EQ(lists(placement)[0], "1-7");
  EXPECT_EQ(lists(placement)[1], "9-15");
}

TEST(Placement, DoesNotReserveTwiceWhatTheSiteTookAway) {
  EXPECT_EQ(
      srun_cpu_bind(placed(fixture("eight-gcds-low-noise.json"), {.reserve = "first-core-per-l3"})),
      lumi_masks);
}

TEST(Placement, SaysWhenThereIsNoL3ToReserveFrom) {
  const auto placement = placed(topology_from_counts(1, 4, 1, 1), {.reserve = "first-core-per-l3"});
  ASSERT_EQ(placement.warnings.size(), 1u);
  EXPECT_NE(placement.warnings[0].find("no L3"), std::string::npos);
}

TEST(Placement, ReservesCpusByNumber) {
  const auto node = machine("cores:4 threads:2 gpus:1");
  EXPECT_EQ(lists(placed(node, {.smt = true, .reserve = "0"})), Lists{"1-3,5-7"})
      << "the sibling of a reserved core is not handed out";
  EXPECT_EQ(lists(placed(node, {.smt = true, .reserve = "4-7"})), Lists{"0-3"});
  EXPECT_EQ(refusal(node, {.reserve = "0-3"}), "no allowed CPU is left for the ranks");
  EXPECT_EQ(refusal(node, {.reserve = "8"}), "reserve: this node has no CPU 8");
  EXPECT_EQ(refusal(node, {.reserve = "first"}),
            "reserve: list item 'first' is not a number or a range");
  auto restricted = node;
  restricted.allowed_cpus = IdSet{1, 2, 3};
  EXPECT_EQ(lists(placed(restricted, {.reserve = "0"})), Lists{"1-3"});
}

TEST(Placement, TakesAsManyCoresAsAsked) {
  const auto node = machine("numa:2 l3:2 cores:4 gpus:2");
  EXPECT_EQ(lists(placed(node, {.cores_per_rank = 4})), (Lists{"0-3", "8-11"}));
  EXPECT_EQ(refusal(node, {.cores_per_rank = 9}),
            "asked for 2 ranks of 9 cores, 16 are usable on the node");
}

TEST(Placement, PolicyNoneBindsNoRank) {
  const auto node = machine("packages:2 cores:4 gpus:2");
  const auto placement = *place_ranks(node, {.policy = BindPolicy::none});
  EXPECT_EQ(lists(placement), (Lists{"0-7", "0-7"}));
  EXPECT_EQ(srun_cpu_bind(placement), "none");
  EXPECT_EQ(srun_map_cpu(placement), "none");
  EXPECT_EQ(srun_mem_bind(node, placement), "none");
  EXPECT_TRUE(placement.warnings.empty());
}

TEST(Placement, TakesMasksAsGiven) {
  const auto node = machine("cores:8 gpus:2");
  const PlacementRequest request{.policy = BindPolicy::explicit_masks,
                                 .masks = {IdSet{1, 2}, IdSet{2, 3}}};
  const auto placement = *place_ranks(node, request);
  EXPECT_EQ(lists(placement), (Lists{"1-2", "2-3"}));
  EXPECT_EQ(placement.warnings, (Lists{"ranks 0-1 share CPU 2: their masks overlap"}));
}

TEST(Placement, RefusesMasksThatDoNotFit) {
  const auto node = machine("cores:8 gpus:2");
  PlacementRequest request{.ranks = 2, .policy = BindPolicy::explicit_masks, .masks = {IdSet{1}}};
  EXPECT_EQ(refusal(node, request), "policy explicit: 1 masks for 2 ranks");
  request.masks = {IdSet{1}, IdSet{}};
  EXPECT_EQ(refusal(node, request), "mask of rank 1 is empty");
  request.masks = {IdSet{1}, IdSet{8}};
  EXPECT_EQ(refusal(node, request), "mask 0x100 of rank 1 holds CPUs 8 that are not allowed here");
  request.masks = {IdSet{1}, IdSet{2}, IdSet{3}};
  EXPECT_EQ(place_ranks(node, request)->warnings,
            (Lists{"3 masks for 2 ranks: the last 1 are not used"}));
}

TEST(Placement, RefusesImpossibleRequests) {
  const auto node = machine("cores:2");
  EXPECT_EQ(refusal(node, {.ranks = -1}), "asked for -1 ranks on a node");
  EXPECT_EQ(refusal(node, {.ranks = 70000}), "asked for 70000 ranks on a node");
  EXPECT_EQ(refusal({}, {}), "no allowed CPU is left for the ranks");
}

TEST(Placement, ManyMoreRanksThanCpusAreAWarningNotAnError) {
  const auto placement = placed(machine("cores:2 threads:2 gpus:1"), {.ranks = 100});
  EXPECT_EQ(placement.ranks.size(), 100u);
  ASSERT_EQ(placement.warnings.size(), 2u);
  EXPECT_EQ(placement.warnings[0],
            "ranks 0-99 share CPUs 0-3: fewer usable CPUs are local to them");
}

TEST(Placement, WordsAreThoseUsersType) {
  EXPECT_EQ(*parse_bind_policy("explicit"), BindPolicy::explicit_masks);
  EXPECT_EQ(*parse_bind_mode("numa"), BindMode::numa);
  EXPECT_EQ(*parse_rank_order("gpu"), RankOrder::gpu);
  for (const auto* word : {"closest", "spread", "none", "explicit"})
    EXPECT_EQ(to_string(*parse_bind_policy(word)), word);
  EXPECT_EQ(parse_bind_policy("close").error().what, "unknown binding policy 'close'");
  EXPECT_EQ(parse_bind_mode("").error().hint, "choose one of cores, core, numa");
  EXPECT_EQ(parse_rank_order("cpu").error().hint, "choose one of gpu, numa");
}

}  // namespace
}  // namespace dllaunch
