#include "topology/placement/seats.hpp"

#include <gtest/gtest.h>

#include "tests/topology/node/machines.hpp"

namespace dllaunch {
namespace {

std::vector<Seat> seats(const Topology& topology, int ranks, RankOrder order = RankOrder::gpu,
                        BindMode mode = BindMode::cores) {
  const UsableNode node(topology, topology.allowed_cpus);
  return seat_ranks(node, ranks, static_cast<int>(topology.gpus.size()), order, mode);
}

std::vector<std::vector<int>> gpus(const std::vector<Seat>& all) {
  std::vector<std::vector<int>> out;
  out.reserve(all.size());
  for (const auto& seat : all) out.push_back(seat.gpus);
  return out;
}

using Gpus = std::vector<std::vector<int>>;

TEST(Seats, LocalRankDrivesItsGpu) {
  const auto node = machine("numa:4 cores:8 gpus:4");
  EXPECT_EQ(gpus(seats(node, 4)), (Gpus{{0}, {1}, {2}, {3}}));
  EXPECT_EQ(gpus(seats(node, 6)), (Gpus{{0}, {1}, {2}, {3}, {0}, {1}}));
  EXPECT_EQ(gpus(seats(node, 2)), (Gpus{{0, 1}, {2, 3}}));
  EXPECT_EQ(gpus(seats(node, 1)), (Gpus{{0, 1, 2, 3}}));
  EXPECT_EQ(gpus(seats(node, 3)), (Gpus{{0}, {1}, {2, 3}}));
}

TEST(Seats, OrRanksRunAlongNumaNodes) {
  const auto node = fixture("eight-gcds-low-noise.json");
  EXPECT_EQ(gpus(seats(node, 8, RankOrder::numa)), (Gpus{{4}, {5}, {2}, {3}, {6}, {7}, {0}, {1}}));
  EXPECT_EQ(gpus(seats(node, 4, RankOrder::numa)), (Gpus{{4, 5}, {2, 3}, {6, 7}, {0, 1}}));
  EXPECT_EQ(gpus(seats(node, 16, RankOrder::numa))[1], std::vector{4});
  EXPECT_EQ(gpus(seats(node, 16, RankOrder::numa))[2], std::vector{5});
}

TEST(Seats, ARanksDomainIsWhatIsLocalToAllItsGpus) {
  const auto node = machine("numa:4 cores:8 gpus:4");
  EXPECT_EQ(seats(node, 2)[1].domain, IdSet::range(16, 31));
}

TEST(Seats, ModeNumaTakesTheWholeNode) {
  const auto node = fixture("eight-gcds-low-noise.json");
  const auto first = seats(node, 8, RankOrder::gpu, BindMode::numa)[0];
  EXPECT_EQ(first.domain, node.numa[3].cpus);
}

TEST(Seats, WidenToTheNextThatHasCpus) {
  const auto restricted = fixture("nothing-local-left.json");
  const auto seat = seats(restricted, 4)[0];
  EXPECT_EQ(seat.domain, IdSet::range(4, 7)) << "its NUMA node";
  EXPECT_EQ(seat.widened, "NUMA node 0");

  auto gone = restricted;
  gone.allowed_cpus -= IdSet::range(0, 7);
  EXPECT_EQ(seats(gone, 4)[0].domain, IdSet::range(12, 15)) << "its package";
  EXPECT_EQ(seats(gone, 4)[0].widened, "package 0");

  gone.allowed_cpus -= IdSet::range(8, 15);
  EXPECT_EQ(seats(gone, 4)[0].domain, IdSet::range(16, 31));
  EXPECT_EQ(seats(gone, 4)[0].widened, "the whole node");
}

TEST(Seats, WithoutGpusEachHasItsNumaNode) {
  const auto node = machine("packages:2 numa:2 cores:4");
  const auto four = seats(node, 4);
  EXPECT_EQ(four[2].domain, IdSet::range(8, 11));
  EXPECT_EQ(seats(node, 3)[0].domain, node.allowed_cpus);
}

TEST(Seats, CoresRunAlongPackagesNodesAndCaches) {
  // CPU numbers alternate between the packages.
  Topology node;
  for (int c = 0; c < 8; ++c) {
    node.cores.push_back({.cpus = {c}, .package = c % 2, .l3 = c % 4});
    node.allowed_cpus.insert(c);
  }
  node.numa = {{.index = 0, .cpus = {0, 2, 4, 6}}, {.index = 1, .cpus = {1, 3, 5, 7}}};
  const UsableNode usable(node, node.allowed_cpus);
  std::vector<int> order;
  for (const auto& core : usable.cores) order.push_back(core.cpus.first());
  EXPECT_EQ(order, (std::vector{0, 4, 2, 6, 1, 5, 3, 7}));
}

}  // namespace
}  // namespace dllaunch
