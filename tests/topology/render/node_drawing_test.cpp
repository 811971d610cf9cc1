#include "topology/render/node_drawing.hpp"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/topology/node/machines.hpp"
#include "topology/discovery/discover_hwloc.hpp"

namespace dllaunch {
namespace {

std::string drawn(const Topology& node, const PlacementRequest& request = {}, int columns = 100) {
  const auto placement = place_ranks(node, request);
  if (!placement) ADD_FAILURE() << placement.error().what;
  return placement ? draw_node(node, *placement, columns, false) : "";
}

TEST(NodeDrawing, MarksTheCoresOfEachRank) {
  EXPECT_EQ(drawn(machine("packages:2 l3:2 cores:2 threads:2 gpus:2 nics:1 memory:64")),
            R"(  |- package 0
  |  `- NUMA 0     64 GiB  00 00  CPUs 0-3,8-11
  |     |- PCI 0000:01  GPU 0 [0]
  |     `- PCI 0000:80  mlx5_0 [0-1]
  `- package 1
     `- NUMA 1     64 GiB  11 11  CPUs 4-7,12-15
        `- PCI 0000:02  GPU 1 [1]
  0-1 cores of ranks 0-1; [] ranks of a GPU or NIC
)");
}

TEST(NodeDrawing, TellsSharedUnusedAndForbiddenCoresApart) {
  auto node = machine("cores:4 gpus:1");
  node.allowed_cpus = IdSet{0, 1, 2};
  EXPECT_NE(drawn(node, {.ranks = 1, .cores_per_rank = 2}).find(" 00.x  CPUs 0-3\n"),
            std::string::npos);
  EXPECT_NE(drawn(machine("cores:1"), {.ranks = 2}).find(" *  CPUs 0\n"), std::string::npos);
}

TEST(NodeDrawing, HangsDevicesOffTheSmallestPartThatHoldsThem) {
  auto node = machine("packages:2 numa:2 l3:2 cores:2 gpus:4");
  node.gpus[0].cpus = IdSet{2, 3};          // an L3
  node.gpus[1].cpus = IdSet::range(4, 7);   // a NUMA node
  node.gpus[2].cpus = IdSet::range(8, 15);  // a package
  node.gpus[3].cpus = IdSet::range(0, 15);  // the node
  const auto page = drawn(node);
  const auto at = [&](const char* text) {
    const auto found = page.find(text);
    EXPECT_NE(found, std::string::npos) << text << " in\n" << page;
    return found;
  };
  EXPECT_LT(at("L3 1"), at("GPU 0"));
  EXPECT_LT(at("GPU 0"), at("NUMA 1"));
  EXPECT_LT(at("NUMA 1"), at("GPU 1"));
  EXPECT_LT(at("GPU 1"), at("package 1"));
  EXPECT_LT(at("NUMA 3"), at("  `- PCI 0000:03  GPU 2"));
  EXPECT_LT(at("GPU 2"), at("  `- PCI 0000:04  GPU 3"));
}

TEST(NodeDrawing, ShowsEachDeviceOnceForAnyFile) {
  auto node = machine("l3:2 cores:2 gpus:1");
  node.gpus[0].cpus = node.cores[0].cpus;
  node.cores[1].package = 1;  // the other half of the GPU's L3
  const auto page = drawn(node);
  EXPECT_NE(page.find("GPU 0"), std::string::npos) << page;
  EXPECT_EQ(page.find("GPU 0"), page.rfind("GPU 0")) << page;
}

TEST(NodeDrawing, PutsMemoryWithoutCpusOnOneLine) {
  auto node = machine("cores:2");
  for (int i = 1; i < 36; ++i)
    node.numa.push_back({.index = i, .memory_bytes = std::uint64_t{12} << 30, .kind = "gpu"});
  EXPECT_NE(drawn(node).find("`- NUMA 1-35 12 GiB gpu each, no CPUs\n"), std::string::npos)
      << drawn(node);
}

TEST(NodeDrawing, WrapsFullLines) {
  const auto page = drawn(machine("cores:100 threads:2 gpus:1"), {}, 40);
  std::istringstream lines(page);
  int marks = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 40u) << line;
    const auto begin = line.find("00000");
    if (begin == std::string::npos) continue;
    const auto end = std::min(line.find_first_not_of('0', begin), line.size());
    marks += static_cast<int>(end - begin);
  }
  EXPECT_EQ(marks, 100) << page;
  EXPECT_NE(page.find("0  CPUs 0-199\n"), std::string::npos) << page;
}

TEST(NodeDrawing, ColoursARankAlikeEverywhere) {
  const auto node = machine("numa:2 cores:2 gpus:2");
  const auto placement = place_ranks(node, {});
  ASSERT_TRUE(placement);
  const auto page = draw_node(node, *placement, 100, true);
  EXPECT_NE(page.find("\x1b[1;31m00\x1b[0m"), std::string::npos) << page;
  EXPECT_NE(page.find("\x1b[1;31m GPU 0\x1b[0m"), std::string::npos) << page;
  EXPECT_NE(page.find("\x1b[1;32m11\x1b[0m"), std::string::npos) << page;
  EXPECT_EQ(draw_node(node, *placement, 100, false).find('\x1b'), std::string::npos);
}

TEST(NodeDrawing, IsReadableOnEveryCapture) {
  if (captured_files().empty()) GTEST_SKIP() << "no captured topologies beside the repository";
  for (const auto& path : captured_files()) {
    const auto node = topology_from_xml(path);
    ASSERT_TRUE(node);
    for (const int columns : {40, 80, 200}) {
      const auto page = drawn(*node, {}, columns);
      std::istringstream lines(page);
      std::size_t count = 0;
      for (std::string line; std::getline(lines, line); ++count)
        EXPECT_LE(line.size(), static_cast<std::size_t>(columns)) << path;
      if (columns > 40) {
        EXPECT_LE(count, 50u) << path << " does not fit a screen:\n" << page;
      }
      for (const auto& gpu : node->gpus)
        EXPECT_NE(page.find("GPU " + std::to_string(gpu.index)), std::string::npos) << path;
      for (const auto& nic : node->nics)
        EXPECT_NE(page.find(" " + nic.name), std::string::npos) << path;
    }
  }
}

}  // namespace
}  // namespace dllaunch
