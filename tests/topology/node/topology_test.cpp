#include "topology/node/topology.hpp"

#include <gtest/gtest.h>

#include "tests/topology/node/machines.hpp"

namespace dllaunch {
namespace {

TEST(Topology, CountsTheCpusOfItsCores) {
  const auto node = machine("packages:2 cores:4 threads:2");
  EXPECT_EQ(node.cpus(), IdSet::range(0, 15));
}

TEST(Topology, KnowsTheNumaNodesOfCpus) {
  const auto node = machine("packages:2 numa:2 cores:4");
  EXPECT_EQ(node.numa_of({0}), IdSet{0});
  EXPECT_EQ(node.numa_of({3, 4, 15}), (IdSet{0, 1, 3}));
  EXPECT_EQ(node.numa_of({}), IdSet{});
  EXPECT_EQ(node.numa_of({99}), IdSet{});
}

TEST(Topology, MemoryWithoutCpusIsLocalToNoCpu) {
  const auto node = fixture("hbm-flat.json");
  EXPECT_EQ(node.numa_of(node.cpus()), (IdSet{0, 1}));
}

}  // namespace
}  // namespace dllaunch
