#include "topology/diagnosis/visible_gpus.hpp"

#include <gtest/gtest.h>

#include "tests/topology/discovery/damage.hpp"
#include "tests/topology/node/machines.hpp"

namespace dllaunch {
namespace {

Topology node_of(const std::string& vendor, int gpus = 4) {
  auto node = machine("numa:4 cores:4 gpus:" + std::to_string(gpus));
  for (auto& gpu : node.gpus) gpu.vendor = vendor;
  return node;
}

RankObservation rank_with(Environment environment, int local_rank = 0, int local_size = 4) {
  RankObservation rank;
  rank.rank = local_rank;
  rank.local_rank = local_rank;
  rank.local_world_size = local_size;
  rank.environment = std::move(environment);
  return rank;
}

using Positions = std::vector<int>;

Positions seen(const std::string& vendor, Environment environment) {
  return visible_gpus(node_of(vendor), rank_with(std::move(environment))).gpus;
}

TEST(VisibleGpus, UnsetIsAll) {
  for (const char* vendor : {"nvidia", "amd", "intel", "other"})
    EXPECT_EQ(seen(vendor, {}), (Positions{0, 1, 2, 3})) << vendor;
  EXPECT_TRUE(visible_gpus(machine("cores:2"), rank_with({})).gpus.empty());
}

TEST(VisibleGpus, AListIsInItsOwnOrder) {
  EXPECT_EQ(seen("nvidia", {{"CUDA_VISIBLE_DEVICES", "3,0"}}), (Positions{3, 0}));
  EXPECT_EQ(seen("nvidia", {{"CUDA_VISIBLE_DEVICES", " 1 , 2 "}}), (Positions{1, 2}));
  EXPECT_EQ(seen("amd", {{"ROCR_VISIBLE_DEVICES", "2"}}), (Positions{2}));
  EXPECT_EQ(seen("intel", {{"ZE_AFFINITY_MASK", "1.0,3"}}), (Positions{1, 3}));
}

TEST(VisibleGpus, EmptyAndMinusOneAreNone) {
  for (const char* none : {"", "-1", " "}) {
    const auto visible =
        visible_gpus(node_of("nvidia"), rank_with({{"CUDA_VISIBLE_DEVICES", none}}));
    EXPECT_EQ(visible.count, 0) << none;
    EXPECT_TRUE(visible.identified);
    EXPECT_TRUE(visible.wrong.empty()) << none;
  }
}

TEST(VisibleGpus, TheFirstInvalidEntryEndsTheList) {
  EXPECT_EQ(seen("nvidia", {{"CUDA_VISIBLE_DEVICES", "1,-1,2"}}), (Positions{1}));
  const auto visible =
      visible_gpus(node_of("nvidia"), rank_with({{"CUDA_VISIBLE_DEVICES", "0,7,1"}}));
  EXPECT_EQ(visible.gpus, (Positions{0}));
  ASSERT_EQ(visible.wrong.size(), 1u);
  EXPECT_EQ(visible.wrong[0],
            "CUDA_VISIBLE_DEVICES=0,7,1 names GPU 7, but there are 4 to choose from");
}

TEST(VisibleGpus, UuidsNameNoPosition) {
  const auto whole =
      visible_gpus(node_of("nvidia"), rank_with({{"CUDA_VISIBLE_DEVICES", "GPU-8932,GPU-21"}}));
  EXPECT_FALSE(whole.identified);
  EXPECT_EQ(whole.count, 2);
  EXPECT_FALSE(whole.mig);
  EXPECT_TRUE(driven_gpus(whole, rank_with({})).empty());
  const auto part =
      visible_gpus(node_of("nvidia"), rank_with({{"CUDA_VISIBLE_DEVICES", "MIG-5c89"}}));
  EXPECT_TRUE(part.mig);
  EXPECT_EQ(part.count, 1);
}

TEST(VisibleGpus, UuidsThatTheTopologyKnowsAreMatchedByTheirBeginning) {
  auto node = node_of("nvidia");
  node.gpus[0].uuid = "GPU-8932f937-d72c";
  node.gpus[2].uuid = "GPU-8945aa00-1111";
  node.gpus[3].uuid = "MIG-5c89f1ba";
  const auto positions = [&](const char* value) {
    const auto visible = visible_gpus(node, rank_with({{"CUDA_VISIBLE_DEVICES", value}}));
    return visible.identified ? visible.gpus : Positions{-1};
  };
  EXPECT_EQ(positions("GPU-8945,GPU-8932f937-d72c"), (Positions{2, 0}));
  EXPECT_EQ(positions("MIG-5c89"), (Positions{3}));
  EXPECT_EQ(positions("GPU-89"), (Positions{-1})) << "two begin so";
  EXPECT_EQ(positions("GPU-7,GPU-8945"), (Positions{-1}));
}

TEST(VisibleGpus, OnAmdTheSecondVariableCountsAmongTheFirst) {
  EXPECT_EQ(seen("amd", {{"ROCR_VISIBLE_DEVICES", "2,3"}, {"HIP_VISIBLE_DEVICES", "1"}}),
            (Positions{3}));
  EXPECT_EQ(seen("amd", {{"CUDA_VISIBLE_DEVICES", "1"}}), (Positions{1}));
  EXPECT_EQ(seen("amd", {{"HIP_VISIBLE_DEVICES", "2"}, {"CUDA_VISIBLE_DEVICES", "2"}}),
            (Positions{2}));

  // As Slurm without AutoDetect sets them for a task of --gpus-per-task=1.
  const auto clash = visible_gpus(
      node_of("amd"), rank_with({{"ROCR_VISIBLE_DEVICES", "3"}, {"CUDA_VISIBLE_DEVICES", "3"}}));
  EXPECT_EQ(clash.count, 0);
  EXPECT_EQ(clash.wrong.size(), 2u);
  const auto apart = visible_gpus(
      node_of("amd"), rank_with({{"HIP_VISIBLE_DEVICES", "1"}, {"CUDA_VISIBLE_DEVICES", "2"}}));
  EXPECT_EQ(apart.wrong.size(), 1u);
}

TEST(VisibleGpus, OtherVendorsVariablesDoNotMatter) {
  EXPECT_EQ(seen("nvidia", {{"ROCR_VISIBLE_DEVICES", "3"}, {"ZE_AFFINITY_MASK", "3"}}),
            (Positions{0, 1, 2, 3}));
}

TEST(VisibleGpus, UnderADeviceCgroupIndexesStartAgain) {
  auto rank = rank_with({{"CUDA_VISIBLE_DEVICES", "0"}});
  rank.nvidia_devices = IdSet{2};
  EXPECT_EQ(visible_gpus(node_of("nvidia"), rank).gpus, (Positions{2}));
}

TEST(VisibleGpus, WithGpusPerTaskZeroMayBeAnyGpu) {
  const Environment environment = {{"CUDA_VISIBLE_DEVICES", "0"},
                                   {"SLURMD_TRES_BIND", "gpu:per_task:1"}};
  EXPECT_TRUE(visible_gpus(node_of("nvidia"), rank_with(environment, 0)).identified);
  EXPECT_FALSE(visible_gpus(node_of("nvidia"), rank_with(environment, 1)).identified);
  auto other = environment;
  other["CUDA_VISIBLE_DEVICES"] = "1";
  EXPECT_TRUE(visible_gpus(node_of("nvidia"), rank_with(other, 1)).identified);
}

TEST(VisibleGpus, OfTwoVendorsTheLoadedRuntimeDecides) {
  auto node = node_of("nvidia", 2);
  node.gpus[1].vendor = "amd";
  auto rank = rank_with({});
  EXPECT_EQ(visible_gpus(node, rank).gpus, (Positions{0}));
  rank.gpu_libraries = {"libamdhip64.so.6"};
  EXPECT_EQ(visible_gpus(node, rank).gpus, (Positions{1}));
}

TEST(DrivenGpus, AreByLocalRankWhereAllAreVisible) {
  const VisibleGpus four{.gpus = {0, 1, 2, 3}, .count = 4};
  EXPECT_EQ(driven_gpus(four, rank_with({}, 2, 4)), (Positions{2}));
  EXPECT_EQ(driven_gpus(four, rank_with({}, 6, 8)), (Positions{2}));
  EXPECT_EQ(driven_gpus(four, rank_with({}, 0, 1)), (Positions{0, 1, 2, 3}));
  // The second of two ranks on four GPUs drives GPU 1, or the second half.
  EXPECT_EQ(driven_gpus(four, rank_with({}, 1, 2)), (Positions{1, 2, 3}));
  const VisibleGpus one{.gpus = {3}, .count = 1};
  EXPECT_EQ(driven_gpus(one, rank_with({}, 2, 4)), (Positions{3}));
  EXPECT_TRUE(driven_gpus({}, rank_with({}, 2, 4)).empty());
}

TEST(VisibleGpus, AnyTextGivesPositionsOfTheNode) {
  const auto node = node_of("amd");
  const std::vector<std::string> samples = {"0,1,2", "GPU-12,3", "-1",
                                            "",      "1.0,2.1",  "MIG-1,MIG-2"};
  with_damaged(samples, 3000, 17, [&](const std::string& text) {
    const auto visible = visible_gpus(
        node, rank_with({{"ROCR_VISIBLE_DEVICES", text}, {"HIP_VISIBLE_DEVICES", "1,0"}}));
    EXPECT_GE(visible.count, 0);
    for (const int gpu : visible.gpus) EXPECT_TRUE(gpu >= 0 && gpu < 4) << text;
    driven_gpus(visible, rank_with({}, 3, 5));
  });
}

}  // namespace
}  // namespace dllaunch
