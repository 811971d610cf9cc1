#include <gtest/gtest.h>

#include "launcher/doctor/report.hpp"
#include "tests/support/golden.hpp"
#include "tests/topology/observed_ranks.hpp"
#include "topology/synthetic.hpp"

namespace dllaunch {
namespace {

/// Two nodes of eight GPUs: ranks in the order of CPUs where GPUs hang the other way round.
Report two_nodes(int nodes) {
  auto topology = *synthetic_topology("packages:2 numa:2 cores:8 gpus:4");
  std::swap(topology.gpus[0], topology.gpus[3]);
  std::swap(topology.gpus[1], topology.gpus[2]);
  for (int i = 0; i < 4; ++i) topology.gpus[static_cast<std::size_t>(i)].index = i;
  Report all;
  for (int n = 0; n < nodes; ++n) {
    std::vector<IdSet> cpus;
    for (int i = 0; i < 4; ++i) cpus.push_back(IdSet::range(8 * i, 8 * i + 7));
    auto node = ranks_on(topology, cpus);
    node.host = "n" + std::to_string(n + 1);
    for (auto& rank : node.ranks) {
      rank.rank += 4 * n;
      rank.world_size = 4 * nodes;
      rank.environment["OMP_NUM_THREADS"] = "16";
    }
    merge(all, report_of(topology, node, "step 12.0"));
  }
  return all;
}

TEST(RenderReport, IsGolden) {
  auto report = two_nodes(256);
  report.unanswered = {{"n257", "no answer within 30 s"}};
  EXPECT_TRUE(matches_golden("launcher/doctor.txt", render_report(report, 100, false)));
}

TEST(RenderReport, SaysWhenNothingIsWrong) {
  const auto topology = *synthetic_topology("packages:2 cores:8 gpus:2");
  auto node = ranks_as_placed(topology, *place_ranks(topology, {}));
  const auto report = report_of(topology, node, "step 12.0");
  const auto text = render_report(report, 100, false);
  EXPECT_NE(text.find("OK   2 ranks on 1 node: nothing wrong found\n"), std::string::npos) << text;
  EXPECT_NE(render_report(report, 100, true).find("\x1b[1;32mOK"), std::string::npos);
}

TEST(RenderReport, AProcessThatIsNoRankHasItsNumber) {
  Report report;
  report.hosts = {"n1"};
  report.ranks = {{.rank = -1, .pid = 4711, .host = "n1", .command = "bash", .cpus = "0-3"}};
  const auto text = render_report(report, 100, false);
  EXPECT_NE(text.find("pid 4711"), std::string::npos) << text;
}

}  // namespace
}  // namespace dllaunch
