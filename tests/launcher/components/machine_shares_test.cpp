#include "launcher/components/machine_shares.hpp"

#include <gtest/gtest.h>

#include <random>

namespace dllaunch {
namespace {

Topology machine(int cores, int gpus) {
  Topology node;
  for (int core = 0; core < cores; ++core) {
    node.cores.push_back({.cpus = IdSet{core, core + cores}});
    node.allowed_cpus |= node.cores.back().cpus;
  }
  for (int gpu = 0; gpu < gpus; ++gpu) node.gpus.push_back({.index = gpu});
  return node;
}

JobComponent component(const Resources& resources) {
  JobComponent one;
  one.job.resources = resources;
  return one;
}

TEST(MachineShares, TheTrainerGetsTheGpusOfACpuLoader) {
  const auto shares = share_machine(
      machine(8, 2),
      {component({.ranks_per_node = 2, .device = "cpu", .cpus_per_rank = 1}), component({})});
  EXPECT_EQ(shares[0].cpus, (IdSet{0, 1, 8, 9}));
  EXPECT_TRUE(shares[0].gpus.empty());
  EXPECT_EQ(shares[1].cpus.size(), 12);
  EXPECT_EQ(shares[1].gpus, (std::vector<int>{0, 1}));
  EXPECT_EQ(with_share(machine(8, 2), shares[0]).gpus.size(), 0u);
}

TEST(MachineShares, ASmallLaptopIsShared) {
  const auto shares = share_machine(machine(1, 0), {component({}), component({})});
  EXPECT_EQ(shares[0].cpus, shares[1].cpus);
}

TEST(MachineShares, AreDisjointAndLeaveNothing) {
  std::mt19937 random(5);
  const auto below = [&random](int limit) { return static_cast<int>(random() % unsigned(limit)); };
  for (int round = 0; round < 2000; ++round) {
    const auto node = machine(1 + below(16), below(5));
    std::vector<JobComponent> components(static_cast<std::size_t>(2 + below(4)));
    for (auto& one : components) {
      auto& asked = one.job.resources;
      if (below(3) == 0) asked.cpus_per_rank = 1 + below(8);
      if (below(3) == 0) asked.ranks_per_node = 1 + below(4);
      if (below(3) == 0) asked.gpus_per_node = below(4);
      if (below(4) == 0) asked.device = "cpu";
    }
    const auto shares = share_machine(node, components);
    const bool enough = node.cores.size() >= components.size();
    IdSet seen;
    std::vector<int> gpus;
    for (const auto& share : shares) {
      EXPECT_FALSE(share.cpus.empty());
      EXPECT_TRUE(node.allowed_cpus.contains(share.cpus));
      EXPECT_TRUE(!enough || !seen.intersects(share.cpus)) << round;
      seen |= share.cpus;
      gpus.insert(gpus.end(), share.gpus.begin(), share.gpus.end());
    }
    for (std::size_t i = 0; i < gpus.size(); ++i) EXPECT_EQ(gpus[i], static_cast<int>(i));
    EXPECT_LE(gpus.size(), node.gpus.size());
  }
}

}  // namespace
}  // namespace dllaunch
