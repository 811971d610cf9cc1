#include "topology/placement/nearest_nic.hpp"

#include <gtest/gtest.h>

#include "tests/topology/node/machines.hpp"

namespace dllaunch {
namespace {

std::string nearest(const Topology& node, std::size_t gpu, std::vector<int> used = {}) {
  used.resize(node.nics.size(), 0);
  const int nic = nearest_nic(node, &node.gpus[gpu], {}, used);
  return nic < 0 ? "" : node.nics[static_cast<std::size_t>(nic)].name;
}

Nic nic(const std::string& name, const IdSet& cpus, const IdSet& numa, bool fabric = true,
        const std::string& path = "") {
  return {.name = name, .pci = "", .numa = numa, .cpus = cpus, .fabric = fabric, .pci_path = path};
}

TEST(NearestNic, IsNoneWhereThereIsNone) {
  EXPECT_EQ(nearest(machine("cores:2 gpus:1"), 0), "");
}

TEST(NearestNic, SitsOnTheSameNumaNode) {
  const auto node = machine("packages:2 numa:2 cores:4 gpus:4 nics:4");
  for (std::size_t g = 0; g < 4; ++g) EXPECT_EQ(nearest(node, g), "mlx5_" + std::to_string(g));
}

TEST(NearestNic, ElseOnTheSamePackage) {
  auto node = machine("packages:2 numa:2 cores:4 gpus:4");
  node.nics = {nic("far", node.numa[0].cpus, {0}), nic("near", node.numa[3].cpus, {3})};
  EXPECT_EQ(nearest(node, 2), "near");
  EXPECT_EQ(nearest(node, 1), "far");
}

TEST(NearestNic, ASharedL3IsNearerThanASharedNode) {
  auto node = machine("l3:2 cores:4 gpus:1");
  node.gpus[0].cpus = IdSet::range(4, 7);
  node.nics = {nic("a", IdSet::range(0, 3), {0}), nic("b", IdSet::range(4, 7), {0})};
  EXPECT_EQ(nearest(node, 0), "b");
}

TEST(NearestNic, ASharedSwitchIsNearest) {
  auto node = machine("cores:8 gpus:2");
  node.gpus[0].pci_path = "0000:00/0000:00:01.0/0000:01:00.0";
  node.gpus[1].pci_path = "0000:40/0000:40:01.0/0000:41:00.0";
  node.nics = {nic("a", node.numa[0].cpus, {0}, true, "0000:40/0000:40:01.0/0000:41:08.0"),
               nic("b", node.numa[0].cpus, {0}, true, "0000:00/0000:00:01.0/0000:01:08.0")};
  EXPECT_EQ(nearest(node, 0), "b");
  EXPECT_EQ(nearest(node, 1), "a");
}

TEST(NearestNic, RanksTakeTurnsAmongEquals) {
  const auto node = machine("cores:8 gpus:1 nics:2");
  EXPECT_EQ(nearest(node, 0, {0, 0}), "mlx5_0");
  EXPECT_EQ(nearest(node, 0, {1, 0}), "mlx5_1");
}

TEST(NearestNic, AFabricBeatsAPlainNicHoweverNear) {
  auto node = machine("packages:2 cores:4 gpus:2");
  node.nics = {nic("eth0", node.numa[0].cpus, {0}, false), nic("hsn0", node.numa[1].cpus, {1})};
  EXPECT_EQ(nearest(node, 0), "hsn0");
  node.nics.pop_back();
  EXPECT_EQ(nearest(node, 0), "eth0");
}

TEST(NearestNic, WithoutAGpuTheCpusDecide) {
  const auto node = machine("packages:2 cores:4 nics:2");
  EXPECT_EQ(nearest_nic(node, nullptr, IdSet{5}, {0, 0}), 1);
  EXPECT_EQ(nearest_nic(node, nullptr, IdSet{1}, {0, 0}), 0);
}

}  // namespace
}  // namespace dllaunch
