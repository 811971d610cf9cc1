#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "launcher/doctor/report.hpp"
#include "tests/support/golden.hpp"
#include "tests/topology/diagnosis/observed_ranks.hpp"
#include "topology/node/synthetic.hpp"

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
    node.job = "step 12.0";
    for (auto& rank : node.ranks) {
      rank.rank += 4 * n;
      rank.world_size = 4 * nodes;
      rank.environment["OMP_NUM_THREADS"] = "16";
    }
    merge(all, report_of(topology, node));
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
  const auto report = report_of(topology, node);
  const auto text = render_report(report, 100, false);
  EXPECT_NE(text.find("OK   2 ranks on 1 node: nothing wrong found\n"), std::string::npos) << text;
  EXPECT_NE(render_report(report, 100, true).find("\x1b[1;32mOK"), std::string::npos);
}

TEST(RenderReport, OfSeveralStepsSaysWhose) {
  auto one = two_nodes(1);
  EXPECT_EQ(render_report(one, 100, false).find("(ranks 0-3 of step"), std::string::npos);
  auto other = two_nodes(1);
  for (auto& row : other.ranks) row.job = "step 12.1";
  for (auto& finding : other.findings) finding.job = "step 12.1";
  merge(one, std::move(other));
  const auto text = render_report(one, 100, false);
  EXPECT_NE(text.find("(ranks 0-3 of step 12.0)"), std::string::npos) << text;
  EXPECT_NE(text.find("(ranks 0-3 of step 12.1)"), std::string::npos) << text;
}

TEST(RenderReport, HostsThatTakeTurnsAreNamedOnce) {
  Report report;
  report.hosts = {"n1", "n2"};
  for (int i = 0; i < 8; ++i)
    report.ranks.push_back({.rank = i, .host = i % 2 == 0 ? "n1" : "n2", .job = "j", .cpus = "0"});
  const auto text = render_report(report, 100, false);
  EXPECT_NE(text.find("0-7    n[1-2]  j"), std::string::npos) << text;
}

TEST(RenderReport, OfTenThousandRanksIsQuickAndShort) {
  const auto start = std::chrono::steady_clock::now();
  const auto report = two_nodes(2500);
  const auto text = render_report(report, 100, false);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 40);
  EXPECT_NE(text.find("10000 ranks on 2500 nodes"), std::string::npos);
  // Generous: these machines are shared and sanitizers are slow.
  EXPECT_LT(took.count(), 20);
  std::printf("10000 ranks judged, merged and shown: %.2f s\n", took.count());
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
