#include <sstream>

#include <gtest/gtest.h>

#include "tests/topology/machines.hpp"
#include "topology/topology_format.hpp"

namespace dllaunch {
namespace {

std::size_t widest(const std::string& page) {
  std::istringstream lines(page);
  std::size_t most = 0;
  for (std::string line; std::getline(lines, line);) most = std::max(most, line.size());
  return most;
}

TEST(RenderTopology, ShowsTheTreeAndTheTables) {
  auto node = machine("packages:2 l3:2 cores:2 threads:2 gpus:2 nics:1 memory:64");
  node.source = "node";
  EXPECT_EQ(render_topology(node, 100, false),
            R"(node: 2 packages, 2 NUMA nodes, 8 cores, 16 CPUs, 2 GPUs
  package 0
    NUMA 0      64 GiB dram
      L3 0   2 cores   CPUs 0-1,8-9
      L3 1   2 cores   CPUs 2-3,10-11
  package 1
    NUMA 1      64 GiB dram
      L3 2   2 cores   CPUs 4-5,12-13
      L3 3   2 cores   CPUs 6-7,14-15

  GPU  VENDOR  PCI           NUMA  CPUS       NAME
  0    nvidia  0000:01:00.0  0     0-3,8-11   synthetic GPU
  1    nvidia  0000:02:00.0  1     4-7,12-15  synthetic GPU

  NIC     KIND    PCI           NUMA  CPUS
  mlx5_0  fabric  0000:80:00.0  0     0-3,8-11
)");
}

TEST(RenderTopology, SaysWhatIsNotAllowed) {
  const auto page = render_topology(fixture("memory-elsewhere.json"), 100, false);
  EXPECT_NE(page.find("allowed CPUs 0-3\n"), std::string::npos) << page;
}

TEST(RenderTopology, ShowsMemoryWithoutCpus) {
  const auto page = render_topology(fixture("hbm-flat.json"), 100, false);
  EXPECT_NE(page.find("NUMA 2        64 GiB hbm, no CPUs"), std::string::npos) << page;
}

TEST(RenderTopology, StaysWithinTheColumns) {
  for (const auto& name : fixture_names())
    for (const int columns : {40, 60, 80, 200}) {
      const auto page = render_topology(fixture(name), columns, false);
      EXPECT_LE(widest(page), static_cast<std::size_t>(columns)) << page;
    }
  EXPECT_LE(widest(render_topology(machine("cores:400 threads:2"), 0, false)), 40u);
}

TEST(RenderTopology, ColoursHeadingsOnlyWhenAsked) {
  const auto node = machine("cores:1 gpus:1");
  EXPECT_EQ(render_topology(node, 80, false).find('\x1b'), std::string::npos);
  EXPECT_NE(render_topology(node, 80, true).find("\x1b[1m"), std::string::npos);
}

}  // namespace
}  // namespace dllaunch
