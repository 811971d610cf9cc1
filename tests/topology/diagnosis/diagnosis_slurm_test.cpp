// Each rule about the request fires on its problem, and only there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/diagnosis/observed_ranks.hpp"
#include "tests/topology/discovery/damage.hpp"
#include "tests/topology/node/machines.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

Topology eight_cores() {
  return machine("cores:8");
}

NodeObservation halves(const Topology& topology) {
  return ranks_on(topology, {IdSet::range(0, 3), IdSet::range(4, 7)});
}

void bind_as(NodeObservation& node, const std::string& type, const std::string& list) {
  for (auto& rank : node.ranks) {
    rank.environment["SLURM_CPU_BIND_TYPE"] = type;
    rank.environment["SLURM_CPU_BIND_LIST"] = list;
  }
}

TEST(BadMask, FindsEmptyAndImpossibleOnes) {
  const auto topology = eight_cores();
  auto node = halves(topology);
  bind_as(node, "mask_cpu:", "0xf,0xf0");
  EXPECT_EQ(verdict_of(topology, node, "A04"), "");
  for (const char* bad : {"0xf,0x0", "0xf,0x", "0xf,", "0xf,0xf00", "0xf,zz"}) {
    bind_as(node, "mask_cpu:", bad);
    EXPECT_EQ(verdict_of(topology, node, "A04"), "FAIL 1") << bad;
  }
  bind_as(node, "map_cpu:", "0,8");
  EXPECT_EQ(verdict_of(topology, node, "A04"), "FAIL 1");
  EXPECT_THAT(finding_of(topology, node, "A04").seen, HasSubstr("this node has no CPU 8"));
  bind_as(node, "mask_cpu:", "0x0");
  EXPECT_EQ(verdict_of(topology, node, "A04"), "FAIL 0-1") << "srun goes round";
  bind_as(node, "none", "0x0");
  EXPECT_EQ(verdict_of(topology, node, "A04"), "");
}

TEST(BadMask, KnowsWhatTheJobMayUse) {
  auto topology = eight_cores();
  topology.allowed_cpus = IdSet::range(0, 5);
  auto node = halves(topology);
  bind_as(node, "mask_cpu:", "0xf,0xf0");
  EXPECT_EQ(verdict_of(topology, node, "A04"), "FAIL 1");
  EXPECT_THAT(finding_of(topology, node, "A04").seen, HasSubstr("the job may not use CPUs 6-7"));
}

TEST(BadMask, TakesAnyText) {
  const auto topology = eight_cores();
  auto node = halves(topology);
  with_damaged({"0xf,0xf0", "1,2,3", "0x,,"}, 1000, 5, [&](const std::string& text) {
    bind_as(node, "mask_cpu:", text);
    diagnose(topology, node);
    bind_as(node, "map_cpu:", text);
    diagnose(topology, node);
  });
}

TEST(CpusPerTask, TwoVariablesMustAgree) {
  const auto topology = eight_cores();
  auto node = halves(topology);
  for (auto& rank : node.ranks) rank.environment["SLURM_CPUS_PER_TASK"] = "4";
  EXPECT_EQ(verdict_of(topology, node, "A13"), "");
  for (auto& rank : node.ranks) rank.environment["SRUN_CPUS_PER_TASK"] = "2";
  EXPECT_EQ(verdict_of(topology, node, "A13"), "FAIL 0-1");
  for (auto& rank : node.ranks) rank.environment["SRUN_CPUS_PER_TASK"] = "4";
  EXPECT_EQ(verdict_of(topology, node, "A13"), "");
}

TEST(CpusPerTask, ThatSrunDidNotInheritIsSeenFromTheCpus) {
  const auto topology = machine("cores:8 threads:2");
  auto node = ranks_on(topology, {IdSet{0, 8}, IdSet{1}});
  for (auto& rank : node.ranks) rank.environment["SLURM_CPUS_PER_TASK"] = "2";
  EXPECT_EQ(verdict_of(topology, node, "A13"), "") << "Slurm counts hardware threads";
  for (auto& rank : node.ranks) rank.environment["SLURM_CPUS_PER_TASK"] = "7";
  EXPECT_EQ(verdict_of(topology, node, "A13"), "WARN 0-1");
  EXPECT_THAT(finding_of(topology, node, "A13").fix, HasSubstr("srun --cpus-per-task"));
}

TEST(SmallerThanPlan, ComparesWithCgroupAndCpus) {
  const auto topology = eight_cores();
  auto node = halves(topology);
  node.planned = {IdSet::range(0, 3), IdSet::range(4, 7)};
  EXPECT_EQ(verdict_of(topology, node, "A15"), "");
  node.ranks[1].cpuset = IdSet::range(0, 5);
  EXPECT_EQ(verdict_of(topology, node, "A15"), "WARN 1");
  EXPECT_THAT(finding_of(topology, node, "A15").seen, HasSubstr("its cgroup allows CPUs 0-5"));
  node.ranks[1].cpuset = {};
  node.ranks[0].cpus = {0};
  EXPECT_EQ(verdict_of(topology, node, "A15"), "WARN 0");
}

TEST(NotAllCpus, IsWorthKnowing) {
  auto topology = eight_cores();
  EXPECT_EQ(verdict_of(topology, halves(topology), "A24"), "");
  topology.allowed_cpus.erase(0);
  EXPECT_EQ(verdict_of(topology, halves(topology), "A24"), "OK");
}

TEST(NotAllRead, SaysWhat) {
  const auto topology = eight_cores();
  auto node = halves(topology);
  node.ranks[1].unread = {"environ: Permission denied", "maps: Permission denied"};
  EXPECT_EQ(verdict_of(topology, node, "A25"), "WARN 1");
  EXPECT_THAT(finding_of(topology, node, "A25").seen,
              HasSubstr("environ: Permission denied and 1 more"));
}

}  // namespace
}  // namespace dllaunch
