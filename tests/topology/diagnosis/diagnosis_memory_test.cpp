// Each rule about memory and limits fires on its problem, and only there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/diagnosis/observed_ranks.hpp"
#include "tests/topology/node/machines.hpp"

namespace dllaunch {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

Topology two_nodes() {
  return machine("numa:2 cores:4");
}

NodeObservation one_each(const Topology& topology) {
  return ranks_on(topology, {IdSet::range(0, 3), IdSet::range(4, 7)});
}

TEST(StrictMemory, IsBindToLessThanAll) {
  const auto topology = two_nodes();
  auto node = one_each(topology);
  EXPECT_EQ(verdict_of(topology, node, "A07"), "");
  node.ranks[0].memory = {"bind", {0}};
  node.ranks[1].memory = {"prefer", {1}};
  EXPECT_EQ(verdict_of(topology, node, "A07"), "WARN 0");
  node.ranks[0].memory = {"bind", {0, 1}};
  EXPECT_EQ(verdict_of(topology, node, "A07"), "");
}

TEST(RemoteMemory, IsAPolicyOrACpusetWithoutTheRanksOwnNode) {
  const auto topology = two_nodes();
  auto node = one_each(topology);
  node.ranks[0].memory = {"prefer", {0}};
  node.ranks[1].memory = {"interleave", {0, 1}};
  EXPECT_EQ(verdict_of(topology, node, "A08"), "");
  node.ranks[0].memory = {"prefer", {1}};
  EXPECT_EQ(verdict_of(topology, node, "A08"), "WARN 0");
  node.ranks[0].memory = {"default", {}};
  node.ranks[1].memory = {"default", {}};
  node.ranks[1].allowed_numa = {0};
  EXPECT_EQ(verdict_of(topology, node, "A08"), "WARN 1");
}

TEST(RemoteMemory, IsUnavoidableBesideANodeWithoutMemory) {
  auto topology = two_nodes();
  topology.numa[1].memory_bytes = 0;
  auto node = one_each(topology);
  node.ranks[1].memory = {"prefer", {0}};
  EXPECT_EQ(verdict_of(topology, node, "A08"), "");
}

TEST(LockedMemory, MattersWithAFabric) {
  auto topology = two_nodes();
  auto node = one_each(topology);
  for (auto& rank : node.ranks) rank.locked_memory_bytes = 8 * mib;
  EXPECT_EQ(verdict_of(topology, node, "A16"), "");
  topology = machine("numa:2 cores:4 nics:1");
  EXPECT_EQ(verdict_of(topology, node, "A16"), "WARN 0-1");
  EXPECT_THAT(finding_of(topology, node, "A16").seen, testing::HasSubstr("may lock 8 MiB"));
  for (auto& rank : node.ranks) rank.locked_memory_bytes = ~std::uint64_t{0};
  EXPECT_EQ(verdict_of(topology, node, "A16"), "");
}

TEST(SharedMemoryRule, ComparesWithTheRanks) {
  const auto topology = two_nodes();
  auto node = one_each(topology);
  EXPECT_EQ(verdict_of(topology, node, "A17"), "");
  node.shared_memory = SharedMemory{128 * mib, 100 * mib};
  EXPECT_EQ(verdict_of(topology, node, "A17"), "WARN");
  node.shared_memory = SharedMemory{65536 * mib, 60 * mib};
  EXPECT_EQ(verdict_of(topology, node, "A17"), "FAIL");
  node.shared_memory.reset();
  EXPECT_EQ(verdict_of(topology, node, "A17"), "WARN");
}

TEST(OpenFiles, ComparesWithTheWorld) {
  const auto topology = two_nodes();
  auto node = one_each(topology);
  for (auto& rank : node.ranks) rank.open_files = 1024;
  EXPECT_EQ(verdict_of(topology, node, "A20"), "");
  for (auto& rank : node.ranks) rank.world_size = 512;
  EXPECT_EQ(verdict_of(topology, node, "A20"), "WARN 0-1");
}

}  // namespace
}  // namespace dllaunch
