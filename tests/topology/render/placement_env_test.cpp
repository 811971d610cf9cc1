#include "topology/render/placement_env.hpp"

#include <gtest/gtest.h>

#include "tests/topology/node/machines.hpp"
#include "tests/topology/placement/invariants.hpp"

namespace dllaunch {
namespace {

std::string text_of(const Variables& variables) {
  std::string text;
  for (const auto& [name, value] : variables)
    text += (text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

/// The promises of place_ranks() apply to bound ranks only.
Placement unbound(const Topology& node, int ranks = 0) {
  return *place_ranks(node, {.ranks = ranks, .policy = BindPolicy::none});
}

TEST(PlacementEnv, APlaceIsACore) {
  const auto smt2 = machine("cores:4 threads:2");
  EXPECT_EQ(omp_places(smt2, {0, 1}), "{0},{1}") << "first threads";
  EXPECT_EQ(omp_places(smt2, {0, 1, 4, 5}), "{0:2:4},{1:2:4}") << "no comma inside braces";
  EXPECT_EQ(omp_places(smt2, {}), "");
  auto smt4 = machine("cores:2");
  smt4.cores = {{.cpus = {0, 1, 2, 3}}, {.cpus = {4, 5, 7}}};
  EXPECT_EQ(omp_places(smt4, IdSet::range(0, 7)), "{0:4},{4,5,7}") << "one sibling is offline";
}

TEST(PlacementEnv, ThreadsAreCores) {
  const auto node = machine("packages:2 cores:2 threads:2 gpus:2");
  const auto plain = placed(node, {});
  EXPECT_EQ(text_of(openmp_variables(node, plain, plain.ranks[1])),
            "OMP_NUM_THREADS=2 OMP_PLACES={2},{3} OMP_PROC_BIND=close");
  const auto smt = placed(node, {.smt = true});
  EXPECT_EQ(text_of(openmp_variables(node, smt, smt.ranks[1])),
            "OMP_NUM_THREADS=2 OMP_PLACES={2:2:4},{3:2:4} OMP_PROC_BIND=close");
  const auto free = unbound(node);
  EXPECT_EQ(text_of(openmp_variables(node, free, free.ranks[1])), "OMP_NUM_THREADS=2")
      << "four cores, two ranks";
  const auto crowd = unbound(node, 9);
  EXPECT_EQ(text_of(openmp_variables(node, crowd, crowd.ranks[8])), "OMP_NUM_THREADS=1");
}

TEST(PlacementEnv, EachVendorHasItsVariable) {
  auto node = machine("packages:2 cores:4 gpus:4");
  const auto two_each = placed(node, {.ranks = 2});
  node.gpus[2].vendor = node.gpus[3].vendor = "intel";
  EXPECT_EQ(text_of(device_variables(node, two_each.ranks[0])),
            "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0,1");
  EXPECT_EQ(text_of(device_variables(node, two_each.ranks[1])), "ZE_AFFINITY_MASK=2,3");
  node.gpus[2].vendor = node.gpus[3].vendor = "amd";
  EXPECT_EQ(text_of(device_variables(node, two_each.ranks[1])), "ROCR_VISIBLE_DEVICES=2,3");
  node.gpus[0].partition = node.gpus[1].partition = 0;
  EXPECT_EQ(text_of(device_variables(node, two_each.ranks[0])), "") << "MIG slices have UUIDs";
  EXPECT_EQ(text_of(device_variables(node, {})), "");
}

TEST(PlacementEnv, NcclUsesTheFabricBesideTheGpus) {
  const auto gcds = fixture("eight-gcds-low-noise.json");
  EXPECT_EQ(text_of(nccl_variables(gcds, placed(gcds, {}))),
            "NCCL_SOCKET_IFNAME=hsn0,hsn1,hsn2,hsn3");
  const auto mlx = fixture("gpus-3-1-3-1.json");
  EXPECT_EQ(text_of(nccl_variables(mlx, placed(mlx, {}))), "NCCL_IB_HCA==mlx5_0,mlx5_1");
  EXPECT_EQ(text_of(nccl_variables(mlx, placed(mlx, {.gpus = 0}))), "") << "no GPU, no NCCL";
  const auto ethernet = fixture("two-vendors.json");
  EXPECT_EQ(text_of(nccl_variables(ethernet, placed(ethernet, {}))), "");
}

TEST(PlacementEnv, NcclKeepsBothRailsAndLeavesStorageAlone) {
  Topology node = machine("packages:2 cores:4 gpus:1");
  node.nics = {};
  const auto add = [&](const std::string& name, int numa, bool fabric) {
    node.nics.push_back({.name = name,
                         .numa = {numa},
                         .cpus = node.numa[static_cast<std::size_t>(numa)].cpus,
                         .fabric = fabric});
  };
  const int near = node.gpus[0].numa.first();
  add("eth0", near, false);
  add("mlx5_0", near, true);
  add("mlx5_1", 1 - near, true);
  add("mlx5_2", near, true);
  EXPECT_EQ(text_of(nccl_variables(node, placed(node, {}))), "NCCL_IB_HCA==mlx5_0,mlx5_2");
  for (auto& nic : node.nics) nic.fabric = false;
  EXPECT_EQ(text_of(nccl_variables(node, placed(node, {}))), "") << "Ethernet is NCCL's to find";
  node.nics = {};
  add("ib0", near, true);
  add("rdmap16s27", near, true);
  EXPECT_EQ(text_of(nccl_variables(node, placed(node, {}))), "NCCL_SOCKET_IFNAME=ib0")
      << "EFA goes through libfabric";
}

TEST(PlacementEnv, OneRankWithAllGpusUsesAllTheirNics) {
  const auto gcds = fixture("eight-gcds-low-noise.json");
  EXPECT_EQ(text_of(nccl_variables(gcds, placed(gcds, {.ranks = 1}))),
            "NCCL_SOCKET_IFNAME=hsn0,hsn1,hsn2,hsn3");
}

}  // namespace
}  // namespace dllaunch
