#include "topology/node/synthetic.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/topology/discovery/damage.hpp"
#include "tests/topology/node/machines.hpp"

namespace dllaunch {
namespace {

TEST(Synthetic, EveryWordMayBeLeftOut) {
  const auto node = machine("");
  EXPECT_EQ(node.packages, 1);
  EXPECT_EQ(node.cores.size(), 1u);
  EXPECT_EQ(node.numa.size(), 1u);
  EXPECT_EQ(node.numa[0].memory_bytes, std::uint64_t{16} << 30);
  EXPECT_EQ(node.allowed_cpus, IdSet{0});
  EXPECT_TRUE(node.gpus.empty());
  EXPECT_TRUE(node.nics.empty());
}

TEST(Synthetic, NumbersCpusAsLinuxDoes) {
  const auto node = machine("packages:2 numa:2 l3:2 cores:4 threads:2");
  ASSERT_EQ(node.cores.size(), 32u);
  EXPECT_EQ(node.cores[5].cpus, (IdSet{5, 37}));
  EXPECT_EQ(node.cores[5].l3, 1);
  EXPECT_TRUE(node.cores[4].opens_l3);
  EXPECT_FALSE(node.cores[5].opens_l3);
  EXPECT_EQ(node.cores[16].package, 1);
  EXPECT_EQ(node.numa[1].cpus, IdSet::range(8, 15) | IdSet::range(40, 47));
}

TEST(Synthetic, DealsDevicesInBlocks) {
  const auto few_nodes = machine("packages:2 cores:4 gpus:4 nics:2");
  EXPECT_EQ(few_nodes.gpus[1].numa, IdSet{0});
  EXPECT_EQ(few_nodes.gpus[2].numa, IdSet{1});
  EXPECT_EQ(few_nodes.nics[1].numa, IdSet{1});
  EXPECT_EQ(few_nodes.gpus[2].cpus, few_nodes.numa[1].cpus);
  const auto many_nodes = machine("numa:4 cores:4 gpus:2");
  EXPECT_EQ(many_nodes.gpus[1].numa, IdSet{2});
}

TEST(Synthetic, AddressesAreUnique) {
  const auto node = machine("cores:1 gpus:4096 nics:4096");
  std::vector<std::string> addresses;
  for (const auto& gpu : node.gpus) addresses.push_back(gpu.pci);
  for (const auto& nic : node.nics) addresses.push_back(nic.pci);
  std::sort(addresses.begin(), addresses.end());
  EXPECT_EQ(std::unique(addresses.begin(), addresses.end()), addresses.end());
}

TEST(Synthetic, NamesWhatItDoesNotUnderstand) {
  const auto what = [](std::string_view text) { return synthetic_topology(text).error().what; };
  EXPECT_EQ(
      what("sockets:2"),
      "synthetic topology: 'sockets:2' is not one of packages, numa, l3, cores, threads, gpus, "
      "nics, memory");
  EXPECT_EQ(what("cores:0"), "synthetic topology: 'cores:0' needs a count of 1 to 4096");
  EXPECT_EQ(what("cores:4097"), "synthetic topology: 'cores:4097' needs a count of 1 to 4096");
  EXPECT_EQ(what("gpus:-1"), "synthetic topology: 'gpus:-1' needs a count of 0 to 4096");
  EXPECT_EQ(what("cores"), "synthetic topology: 'cores' needs a count of 1 to 4096");
  EXPECT_EQ(what("cores:2 cores:2"), "synthetic topology: 'cores:2' is given twice");
  EXPECT_EQ(what("packages:4096 cores:4096"), "synthetic topology: more than 65536 CPUs");
}

TEST(Synthetic, SlurmsCountsKnowNoLocality) {
  const auto node = topology_from_counts(2, 8, 2, 4);
  EXPECT_EQ(node.packages, 2);
  EXPECT_EQ(node.cores.size(), 16u);
  EXPECT_EQ(node.allowed_cpus, IdSet::range(0, 31));
  ASSERT_EQ(node.gpus.size(), 4u);
  for (const auto& gpu : node.gpus) EXPECT_EQ(gpu.cpus, node.allowed_cpus);
  EXPECT_EQ(topology_from_counts(0, -3, 0, -1).allowed_cpus, IdSet{0});
  EXPECT_EQ(topology_from_counts(100000, 100000, 8, 0).cores.size(), 65536u);
}

TEST(Synthetic, SurvivesDamagedText) {
  with_damaged({"packages:2 numa:4 l3:2 cores:8 threads:2 gpus:4 nics:2 memory:64", "cores:4"},
               5000, 3, [](const std::string& text) {
                 const auto node = synthetic_topology(text);
                 if (node)
                   EXPECT_FALSE(node->cores.empty());
                 else
                   EXPECT_FALSE(node.error().what.empty());
               });
}

}  // namespace
}  // namespace dllaunch
