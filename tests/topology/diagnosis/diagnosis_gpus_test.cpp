// Each rule about GPUs and NICs fires on its problem, and only there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/diagnosis/observed_ranks.hpp"
#include "tests/topology/node/machines.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

Topology four_gpus() {
  return machine("packages:2 numa:2 cores:4 gpus:4 nics:2");
}

NodeObservation well_placed(const Topology& topology) {
  return ranks_as_placed(topology, *place_ranks(topology, {}));
}

void set_each(NodeObservation& node, const char* name, const std::vector<std::string>& values) {
  for (std::size_t i = 0; i < node.ranks.size(); ++i)
    node.ranks[i].environment[name] = values[i % values.size()];
}

TEST(HiddenGpus, ByAVariableIsAWarning) {
  const auto topology = four_gpus();
  auto node = well_placed(topology);
  EXPECT_EQ(verdict_of(topology, node, "A09"), "");
  set_each(node, "CUDA_VISIBLE_DEVICES", {"0", "1", "2", "3"});
  EXPECT_EQ(verdict_of(topology, node, "A09"), "WARN 0-3");
  EXPECT_THAT(finding_of(topology, node, "A09").seen,
              HasSubstr("rank 0 sees 1 GPU, by CUDA_VISIBLE_DEVICES=0"));
  set_each(node, "CUDA_VISIBLE_DEVICES", {"0,1,2,3"});
  EXPECT_EQ(verdict_of(topology, node, "A09"), "");
}

TEST(HiddenGpus, ByUuidIsSeenFromTheDifference) {
  const auto topology = four_gpus();
  auto node = well_placed(topology);
  set_each(node, "CUDA_VISIBLE_DEVICES", {"GPU-1", "GPU-2", "GPU-3", "GPU-4"});
  EXPECT_EQ(verdict_of(topology, node, "A09"), "WARN 0-3");
  set_each(node, "CUDA_VISIBLE_DEVICES", {"GPU-1,GPU-2,GPU-3,GPU-4"});
  EXPECT_EQ(verdict_of(topology, node, "A09"), "");
}

TEST(HiddenGpus, ByACgroupIsAFailure) {
  const auto topology = four_gpus();
  auto node = well_placed(topology);
  set_each(node, "CUDA_VISIBLE_DEVICES", {"0"});
  for (int i = 0; i < 4; ++i) node.ranks[static_cast<std::size_t>(i)].nvidia_devices = IdSet{i};
  EXPECT_EQ(verdict_of(topology, node, "A09"), "FAIL 0-3");
  EXPECT_EQ(verdict_of(topology, node, "A11"), "");
}

TEST(HiddenGpus, GpusPerTaskIsNamedEvenWhereNumbersStartAgain) {
  const auto topology = four_gpus();
  auto node = well_placed(topology);
  set_each(node, "CUDA_VISIBLE_DEVICES", {"0"});
  set_each(node, "SLURMD_TRES_BIND", {"gpu:per_task:1"});
  set_each(node, "SLURM_GPUS_ON_NODE", {"4"});
  EXPECT_EQ(verdict_of(topology, node, "A09"), "WARN 0-3");
  EXPECT_THAT(finding_of(topology, node, "A09").seen, HasSubstr("gpu:per_task:1"));
  EXPECT_THAT(finding_of(topology, node, "A09").fix, HasSubstr("--gpus-per-node"));
  EXPECT_EQ(verdict_of(topology, node, "A11"), "") << "each has its own, all called 0";
  EXPECT_EQ(verdict_of(topology, node, "A01"), "");
}

TEST(HiddenGpus, MigPartitionsAreAlways) {
  const auto topology = four_gpus();
  auto node = well_placed(topology);
  set_each(node, "CUDA_VISIBLE_DEVICES", {"MIG-1"});
  EXPECT_EQ(verdict_of(topology, node, "A09"), "WARN 0-3");
}

TEST(VisibleClash, OnAmd) {
  auto topology = four_gpus();
  for (auto& gpu : topology.gpus) gpu.vendor = "amd";
  auto node = well_placed(topology);
  set_each(node, "ROCR_VISIBLE_DEVICES", {"0", "1", "2", "3"});
  EXPECT_EQ(verdict_of(topology, node, "A10"), "");
  set_each(node, "CUDA_VISIBLE_DEVICES", {"0", "1", "2", "3"});
  EXPECT_EQ(verdict_of(topology, node, "A10"), "FAIL 1-3");
}

TEST(VisibleClash, OfAMissingGpuAndOfNone) {
  const auto topology = four_gpus();
  auto node = well_placed(topology);
  node.ranks[2].environment["CUDA_VISIBLE_DEVICES"] = "4";
  EXPECT_EQ(verdict_of(topology, node, "A10"), "FAIL 2");
  node.ranks[2].environment["CUDA_VISIBLE_DEVICES"] = "";
  EXPECT_EQ(verdict_of(topology, node, "A10"), "WARN 2");
  node.ranks[2].gpu_libraries.clear();
  EXPECT_EQ(verdict_of(topology, node, "A10"), "") << "a rank that wants no GPU";
}

TEST(SharedGpu, IsAFailureWhileOthersIdle) {
  const auto topology = four_gpus();
  auto node = well_placed(topology);
  set_each(node, "CUDA_VISIBLE_DEVICES", {"0", "0", "2", "3"});
  set_each(node, "SLURM_GPUS_ON_NODE", {"4"});
  EXPECT_EQ(verdict_of(topology, node, "A11"), "FAIL 0-1");
  EXPECT_THAT(finding_of(topology, node, "A11").seen, HasSubstr("ranks 0-1 drive GPU 0"));

  const auto crowded = ranks_as_placed(topology, *place_ranks(topology, {.ranks = 8}));
  EXPECT_EQ(verdict_of(topology, crowded, "A11"), "") << "two ranks per GPU, all in use";
}

TEST(FarNic, ListensToNcclIbHca) {
  const auto topology = four_gpus();
  auto node = well_placed(topology);
  for (auto& rank : node.ranks) rank.world_size = 8;
  const auto nic = topology.nics[1].name;
  EXPECT_EQ(verdict_of(topology, node, "A12").substr(0, 4), "OK 1");
  set_each(node, "NCCL_IB_HCA", {"mlx9"});
  EXPECT_EQ(verdict_of(topology, node, "A12"), "WARN 0-3");
  set_each(node, "NCCL_IB_HCA", {"=" + nic + ":1"});
  EXPECT_EQ(verdict_of(topology, node, "A12"), "WARN 0");
  set_each(node, "NCCL_IB_HCA", {topology.nics[0].name + "," + nic});
  EXPECT_EQ(verdict_of(topology, node, "A12"), "OK 1,3");
  for (auto& rank : node.ranks) rank.world_size = 4;
  EXPECT_EQ(verdict_of(topology, node, "A12"), "") << "one node has no traffic";
}

TEST(TwoRuntimes, InOneProcess) {
  const auto topology = four_gpus();
  auto node = well_placed(topology);
  node.ranks[1].gpu_libraries = {"libcuda.so.1", "libcudart.so.12", "libze_loader.so.1"};
  EXPECT_EQ(verdict_of(topology, node, "A18"), "");
  node.ranks[1].gpu_libraries = {"libcudart.so.11.0", "libcudart.so.12"};
  node.ranks[3].gpu_libraries = {"libamdhip64.so.6", "libcudart.so.12"};
  EXPECT_EQ(verdict_of(topology, node, "A18"), "WARN 1,3");
}

TEST(GpuOrder, MattersWithTwoKindsOfGpu) {
  auto topology = four_gpus();
  auto node = well_placed(topology);
  EXPECT_EQ(verdict_of(topology, node, "A19"), "");
  topology.gpus[3].name = "another";
  EXPECT_EQ(verdict_of(topology, node, "A19"), "WARN 0-3");
  set_each(node, "CUDA_DEVICE_ORDER", {"PCI_BUS_ID"});
  EXPECT_EQ(verdict_of(topology, node, "A19"), "");
}

TEST(GpuOrder, ReportsADifferenceFromPciOrder) {
  auto topology = four_gpus();
  std::swap(topology.gpus[0].pci, topology.gpus[3].pci);
  EXPECT_EQ(verdict_of(topology, well_placed(topology), "A19"), "OK");
}

TEST(UnknownLocality, OnlyMattersWithSeveralNumaNodes) {
  auto topology = four_gpus();
  EXPECT_EQ(verdict_of(topology, well_placed(topology), "A23"), "");
  topology.gpus[2].cpus = topology.cpus();
  topology.nics[0].cpus = {};
  EXPECT_EQ(verdict_of(topology, well_placed(topology), "A23"), "WARN");
  auto flat = machine("cores:8 gpus:2");
  EXPECT_EQ(verdict_of(flat, well_placed(flat), "A23"), "");
}

}  // namespace
}  // namespace dllaunch
