// The whole diagnosis: good placements pass, and the documents name every rule.
#include "topology/diagnosis/diagnosis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "tests/topology/diagnosis/observed_ranks.hpp"
#include "tests/topology/discovery/damage.hpp"
#include "tests/topology/node/machines.hpp"
#include "topology/discovery/discover_hwloc.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

void expect_no_complaint(const Topology& topology, const PlacementRequest& request) {
  SCOPED_TRACE(topology.source + ": " + std::to_string(request.ranks) + " ranks, order " +
               std::to_string(static_cast<int>(request.order)));
  const auto placement = place_ranks(topology, request);
  if (!placement) return;
  auto node = ranks_as_placed(topology, *placement);
  // Only a plan explains these; a plan in GPU order is what the diagnosis assumes anyway.
  if (request.order != RankOrder::gpu || request.mode != BindMode::cores || request.smt)
    node.request = request;
  const std::set<std::string> about_places = {"A01", "A02", "A03", "A04", "A05"};
  for (const auto& finding : diagnose(topology, node)) {
    if (!placement->warnings.empty() && finding.level != Level::fail) continue;
    EXPECT_NE(finding.level, Level::fail) << finding.id << ": " << finding.seen;
    EXPECT_FALSE(finding.level == Level::warn && about_places.contains(finding.id))
        << finding.id << ": " << finding.seen;
  }
}

void expect_no_complaints(const Topology& topology) {
  const auto gpus = static_cast<int>(topology.gpus.size());
  const int most = 2 * (gpus > 0 ? gpus : static_cast<int>(topology.cores.size()));
  for (int ranks = 1; ranks <= std::min(most, 40) && !testing::Test::HasFailure(); ++ranks)
    for (const auto mode : {BindMode::cores, BindMode::core, BindMode::numa})
      for (const auto order : {RankOrder::gpu, RankOrder::numa})
        for (const bool smt : {false, true})
          expect_no_complaint(topology, {.ranks = ranks, .mode = mode, .order = order, .smt = smt});
}

TEST(Diagnosis, PassesOurOwnPlacements) {
  for (const auto& name : fixture_names()) expect_no_complaints(fixture(name));
  for (const char* text : {"cores:2", "numa:2 cores:4 threads:2 gpus:3 nics:2",
                           "packages:2 numa:4 "
                           "l3:2 cores:4 threads:2 gpus:8 nics:4"})
    expect_no_complaints(machine(text));
}

TEST(Diagnosis, PassesOnCaptures) {
  if (captured_files().empty()) GTEST_SKIP() << "no captured topologies beside the repository";
  for (const auto& path : captured_files()) {
    const auto topology = topology_from_xml(path);
    ASSERT_TRUE(topology) << topology.error().what;
    for (int ranks = 0; ranks <= 2 * static_cast<int>(topology->gpus.size()); ++ranks)
      expect_no_complaint(*topology, {.ranks = ranks});
  }
}

TEST(Diagnosis, PutsTheWorstFirst) {
  const auto topology = machine("packages:2 cores:8 gpus:2");
  auto node = ranks_on(topology, {IdSet::range(8, 15), IdSet::range(0, 7)});
  node.ranks[0].environment["OMP_NUM_THREADS"] = "99";
  node.ranks[0].unread = {"maps: Permission denied"};
  const auto findings = diagnose(topology, node);
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0].id, "A01");
  EXPECT_EQ(findings[1].id, "A06");
  EXPECT_EQ(findings[2].id, "A25");
  EXPECT_FALSE(findings[0].cost.empty());
}

TEST(Diagnosis, WithoutRanksChecksOnlyTheNode) {
  const auto topology = machine("numa:2 cores:4 gpus:2");
  EXPECT_TRUE(diagnose(topology, ranks_on(topology, {})).empty());
  EXPECT_EQ(verdict_of(topology, NodeObservation{}, "A17"), "WARN");
}

TEST(Diagnosis, OfAThousandRanksFitsAPage) {
  const auto topology = machine("packages:2 numa:4 l3:4 cores:8 threads:2 gpus:8");
  std::vector<IdSet> all(1000, IdSet{0});
  const auto finding = finding_of(topology, ranks_on(topology, all), "A02");
  EXPECT_EQ(finding.ranks.size(), 1000);
  EXPECT_LT(finding.seen.size() + finding.fix.size(), 1000u);
}

TEST(Diagnosis, SurvivesAnyObservation) {
  Random random(11);
  const auto topology = machine("packages:2 numa:2 cores:4 threads:2 gpus:4 nics:2");
  const std::vector<std::string> names = {
      "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS",    "NCCL_IB_HCA",        "SLURM_CPU_BIND_LIST",
      "GOMP_CPU_AFFINITY",    "SLURM_GPUS_ON_NODE", "SLURM_CPUS_PER_TASK"};
  const std::vector<std::string> values = {"",   "0",     "0,1", "-1", "99999999999",
                                           "0x", "GPU-1", "^,="};
  for (int round = 0; round < 500; ++round) {
    std::vector<IdSet> cpus;
    for (int i = random.below(6); i > 0; --i) {
      IdSet set;
      for (int c = random.below(5); c > 0; --c) set.insert(random.below(80));
      cpus.push_back(set);
    }
    auto node = ranks_on(topology, cpus);
    for (auto& rank : node.ranks) {
      rank.local_rank = random.below(9);
      rank.local_world_size = 1 + random.below(9);
      rank.environment["SLURM_CPU_BIND_TYPE"] = random.one_in(2) ? "mask_cpu:" : "map_cpu:";
      for (const auto& name : names)
        if (random.one_in(3))
          rank.environment[name] =
              values[static_cast<std::size_t>(random.below(static_cast<int>(values.size())))];
      if (random.one_in(4)) rank.nvidia_devices = IdSet{random.below(9)};
    }
    for (const auto& finding : diagnose(topology, node)) {
      EXPECT_FALSE(finding.seen.empty());
      EXPECT_EQ(finding.fix.empty(), finding.level == Level::ok) << finding.id;
    }
  }
}

TEST(Rules, HaveIdsInOrderAndStandInTheGuide) {
  std::ifstream guide(std::string(DLLAUNCH_SOURCE_DIR) + "/docs/how-to/doctor.md");
  ASSERT_TRUE(guide);
  std::vector<std::string> documented;
  for (std::string line; std::getline(guide, line);)
    if (line.starts_with("| A")) documented.push_back(line);
  const auto rules = rule_names();
  ASSERT_EQ(documented.size(), rules.size());
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::string row =
        "| " + std::string(rules[i].id) + " | " + std::string(rules[i].title) + " | ";
    EXPECT_TRUE(documented[i].starts_with(row)) << documented[i] << "\nis not of " << row;
    EXPECT_THAT(documented[i], HasSubstr(std::string(rules[i].cost)));
    if (i > 0) {
      EXPECT_LT(rules[i - 1].id, rules[i].id);
    }
  }
}

TEST(RankWords, AreShort) {
  EXPECT_EQ(rank_words({0, 1, 2, 8}), "0-2,8");
  IdSet every_eighth;
  for (int i = 0; i < 1024; i += 8) every_eighth.insert(i);
  EXPECT_EQ(rank_words(every_eighth), "0,8,16,24,...,1016 (128 ranks)");
}

}  // namespace
}  // namespace dllaunch
