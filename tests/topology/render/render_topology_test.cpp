#include "topology/render/render_topology.hpp"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/support/golden.hpp"
#include "tests/topology/node/machines.hpp"

namespace dllaunch {
namespace {

std::size_t widest(const std::string& page) {
  std::istringstream lines(page);
  std::size_t most = 0;
  for (std::string line; std::getline(lines, line);) most = std::max(most, line.size());
  return most;
}

class RenderedMachine
    : public testing::TestWithParam<std::tuple<const char* /*fixture*/, int /*columns*/>> {};

// Caches with devices, uneven GPUs on two packages, memory without CPUs.
TEST_P(RenderedMachine, MatchesItsGoldenFile) {
  const auto& [name, columns] = GetParam();
  auto node = fixture(std::string(name) + ".json");
  node.source = name;
  EXPECT_TRUE(
      matches_golden("topology/topo-" + std::string(name) + "-" + std::to_string(columns) + ".txt",
                     render_topology(node, columns, false)));
}
INSTANTIATE_TEST_SUITE_P(Fixtures, RenderedMachine,
                         testing::Combine(testing::Values("eight-gcds-low-noise", "gpus-3-1-3-1",
                                                          "hbm-flat"),
                                          testing::Values(80, 120)),
                         [](const auto& tested) {
                           std::string name = std::get<0>(tested.param);
                           std::ranges::replace(name, '-', '_');
                           return name + "_" + std::to_string(std::get<1>(tested.param));
                         });

TEST(RenderTopology, SaysWhatIsNotAllowed) {
  const auto page = render_topology(fixture("memory-elsewhere.json"), 100, false);
  EXPECT_NE(page.find("allowed CPUs 0-3\n"), std::string::npos) << page;
}

TEST(RenderTopology, ShowsHowGpusReachEachOther) {
  auto node = machine("numa:2 cores:2 gpus:3");
  node.gpus[0].links = {
      {.pci = node.gpus[1].pci, .kind = "nvlink", .count = 12, .path = "sys", .p2p = true},
      {.pci = node.gpus[2].pci, .kind = "pcie", .path = "phb"}};
  node.gpus[1].links = {{.pci = node.gpus[0].pci, .kind = "xgmi", .count = 4, .p2p = true}};
  node.gpus[1].mode = "SPX/NPS1";
  const auto page = render_topology(node, 100, false);
  EXPECT_NE(page.find("  LINK  GPU0   GPU1  GPU2\n"
                      "  GPU0  -      NV12  PHB!\n"
                      "  GPU1  XGMI4  -     -\n"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find(" SPX/NPS1 "), std::string::npos) << page;
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
