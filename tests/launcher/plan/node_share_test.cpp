#include "launcher/plan/node_share.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

IdSet ids(std::initializer_list<int> all) {
  IdSet set;
  for (const int id : all) set.insert(id);
  return set;
}

/// Two cores of two threads each, one GPU in two parts, and another one.
Topology machine() {
  Topology topology;
  topology.cores = {{.cpus = ids({0, 2})}, {.cpus = ids({1, 3})}};
  topology.allowed_cpus = ids({0, 1, 2, 3});
  topology.gpus = {{.index = 0, .pci = "0000:07:00.0", .partition = 0},
                   {.index = 1, .pci = "0000:07:00.0", .partition = 1},
                   {.index = 2, .pci = "0000:0b:00.0"}};
  return topology;
}

Placement placed(BindPolicy policy, const std::vector<RankPlacement>& ranks) {
  Placement placement;
  placement.policy = policy;
  placement.ranks = ranks;
  return placement;
}

TEST(NodeShare, CountsASharedGpuOnce) {
  const auto topology = machine();
  EXPECT_EQ(devices_of(topology, placed(BindPolicy::closest, {{.gpus = {2}}, {.gpus = {2}}})), 1);
  EXPECT_EQ(devices_of(topology, placed(BindPolicy::closest, {{.gpus = {0}}, {.gpus = {1}}})), 1)
      << "parts of one device";
  EXPECT_EQ(devices_of(topology, placed(BindPolicy::closest, {{.gpus = {0}}, {.gpus = {2}}})), 2);
  EXPECT_EQ(devices_of(topology, placed(BindPolicy::closest, {{}})), 0);
}

TEST(NodeShare, OfThisMachineIsTheCoresOfItsRanks) {
  const auto bound = placed(BindPolicy::closest, {{.cpus = ids({0})}, {.cpus = ids({2})}});
  EXPECT_EQ(share_of_ranks(machine(), bound).cores, 1) << "two threads of one core";
  EXPECT_EQ(share_of_ranks(machine(), placed(BindPolicy::none, {{}})).cores, 2);
  EXPECT_FALSE(share_of_ranks(Topology(), bound).cores) << "unknown, not 0";
}

}  // namespace
}  // namespace dllaunch
