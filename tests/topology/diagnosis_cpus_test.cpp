// Each rule about CPUs fires on what it is for, and only there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/machines.hpp"
#include "tests/topology/observed_ranks.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

IdSet cpus(const std::string& list) {
  return *parse_id_list(list);
}

std::vector<IdSet> each(const std::vector<std::string>& lists) {
  std::vector<IdSet> all;
  for (const auto& list : lists) all.push_back(cpus(list));
  return all;
}

const Topology& two_sockets() {
  static const auto node = machine("packages:2 cores:8 gpus:2");
  return node;
}

TEST(FarFromGpu, NamesCpusGpuAndTheMasks) {
  const auto swapped = ranks_on(two_sockets(), each({"8-15", "0-7"}));
  EXPECT_EQ(verdict_of(two_sockets(), swapped, "A01"), "FAIL 0-1");
  const auto finding = finding_of(two_sockets(), swapped, "A01");
  EXPECT_THAT(finding.seen, HasSubstr("rank 0 runs on CPUs 8-15 (NUMA node 1), beside GPU 0 ("));
  EXPECT_THAT(finding.seen, HasSubstr("(NUMA node 0) are CPUs 0-7"));
  EXPECT_THAT(finding.fix, HasSubstr("srun --cpu-bind=mask_cpu:0xff,0xff00"));
  EXPECT_THAT(finding.fix, HasSubstr("binding: {policy: closest}"));
}

TEST(FarFromGpu, PartlyIsAWarning) {
  const auto node = ranks_on(two_sockets(), each({"4-7", "6-9"}));
  EXPECT_EQ(verdict_of(two_sockets(), node, "A01"), "WARN 1");
}

TEST(FarFromGpu, FollowsTheVariables) {
  auto node = ranks_on(two_sockets(), each({"8-15", "0-7"}));
  node.ranks[0].environment["CUDA_VISIBLE_DEVICES"] = "1";
  node.ranks[1].environment["CUDA_VISIBLE_DEVICES"] = "0";
  EXPECT_EQ(verdict_of(two_sockets(), node, "A01"), "");
}

TEST(FarFromGpu, IsSilentWhereNothingIsWrong) {
  EXPECT_EQ(verdict_of(two_sockets(), ranks_on(two_sockets(), each({"0-7", "8-15"})), "A01"), "");
  auto cpu_only = ranks_on(two_sockets(), each({"8-15", "0-7"}));
  for (auto& rank : cpu_only.ranks) rank.gpu_libraries.clear();
  EXPECT_EQ(verdict_of(two_sockets(), cpu_only, "A01"), "") << "no GPU runtime is loaded";

  auto elsewhere = machine("packages:2 cores:8 gpus:2");
  elsewhere.allowed_cpus = cpus("8-15");
  EXPECT_EQ(verdict_of(elsewhere, ranks_on(elsewhere, each({"8-11", "12-15"})), "A01"), "")
      << "no CPU beside GPU 0 is allowed";
}

TEST(FarFromGpu, KnowsTheOrderThatThePlanChose) {
  auto reversed = machine("packages:2 cores:8 gpus:2");
  std::swap(reversed.gpus[0].cpus, reversed.gpus[1].cpus);
  std::swap(reversed.gpus[0].numa, reversed.gpus[1].numa);
  auto node = ranks_on(reversed, each({"0-7", "8-15"}));
  EXPECT_EQ(verdict_of(reversed, node, "A01"), "FAIL 0-1");
  node.request = PlacementRequest{.order = RankOrder::numa};
  EXPECT_EQ(verdict_of(reversed, node, "A01"), "");
}

TEST(Overlap, FailsWhereCpusAreLeft) {
  const auto node = ranks_on(two_sockets(), each({"0-3", "3-7"}));
  EXPECT_EQ(verdict_of(two_sockets(), node, "A02"), "FAIL 0-1");
  EXPECT_THAT(finding_of(two_sockets(), node, "A02").seen,
              HasSubstr("rank 0 shares CPU 3 with rank 1"));
}

TEST(Overlap, NamesOnlyThoseWhoShare) {
  const auto node = ranks_on(two_sockets(), each({"0-3", "4-7", "0", "8"}));
  EXPECT_EQ(verdict_of(two_sockets(), node, "A02"), "FAIL 0,2");
}

TEST(Overlap, WarnsWhereThereAreMoreRanksThanCpus) {
  const auto small = machine("cores:2");
  const auto node = ranks_on(small, each({"0", "1", "0"}));
  EXPECT_EQ(verdict_of(small, node, "A02"), "WARN 0,2");
  EXPECT_THAT(finding_of(small, node, "A02").fix, HasSubstr("ranks_per_node"));
}

TEST(Overlap, OfABoundWithAnUnboundRankCounts) {
  EXPECT_EQ(verdict_of(two_sockets(), ranks_on(two_sockets(), each({"0-15", "0-7"})), "A02"),
            "FAIL 0-1");
  EXPECT_EQ(verdict_of(two_sockets(), ranks_on(two_sockets(), each({"0-15", "0-15"})), "A02"), "")
      << "that they are unbound says it all";
}

TEST(Unbound, IsSaidOfRanksWithCompany) {
  EXPECT_EQ(verdict_of(two_sockets(), ranks_on(two_sockets(), each({"0-15", "0-15"})), "A03"),
            "WARN 0-1");
  EXPECT_EQ(verdict_of(two_sockets(), ranks_on(two_sockets(), each({"0-7", "8-15"})), "A03"), "");
  EXPECT_EQ(verdict_of(two_sockets(), ranks_on(two_sockets(), each({"0-15"})), "A03"), "")
      << "alone on its node";
}

TEST(Unbound, IsNotSaidWhereThePlanWantsIt) {
  auto node = ranks_on(two_sockets(), each({"0-15", "0-15"}));
  node.request = PlacementRequest{.policy = BindPolicy::none};
  EXPECT_EQ(verdict_of(two_sockets(), node, "A03"), "");
}

TEST(SplitSiblings, AreFound) {
  const auto smt = machine("cores:4 threads:2");
  const auto node = ranks_on(smt, each({"0-3", "4-7"}));
  EXPECT_EQ(verdict_of(smt, node, "A05"), "WARN 0-1");
  EXPECT_THAT(finding_of(smt, node, "A05").seen, HasSubstr("CPU 0 and rank 1 has CPU 4"));
  EXPECT_EQ(verdict_of(smt, ranks_on(smt, each({"0-1,4-5", "2-3,6-7"})), "A05"), "");
  EXPECT_EQ(verdict_of(smt, ranks_on(smt, each({"0-1", "2-3"})), "A05"), "");
}

TEST(SplitSiblings, AreFineWhereRanksOutnumberCores) {
  const auto smt = machine("cores:2 threads:2");
  EXPECT_EQ(verdict_of(smt, ranks_on(smt, each({"0", "1", "2", "3"})), "A05"), "");
}

TEST(TooManyThreads, CountsOpenMpWorkersAndReadyThreads) {
  auto node = ranks_on(two_sockets(), each({"0-3", "8-11"}));
  EXPECT_EQ(verdict_of(two_sockets(), node, "A06"), "");
  node.ranks[0].environment["OMP_NUM_THREADS"] = "4";
  node.ranks[1].environment["OMP_NUM_THREADS"] = "16,2";
  EXPECT_EQ(verdict_of(two_sockets(), node, "A06"), "WARN 1");
  node.ranks[0].workers = 4;
  EXPECT_EQ(verdict_of(two_sockets(), node, "A06"), "WARN 0-1");
  node.ranks[0].workers = 3;
  node.ranks[1].environment.clear();
  EXPECT_EQ(verdict_of(two_sockets(), node, "A06"), "");
  node.ranks[1].runnable_threads = 8;
  EXPECT_EQ(verdict_of(two_sockets(), node, "A06"), "WARN 1");
}

TEST(ReservedCores, AreThePlans) {
  auto node = ranks_on(two_sockets(), each({"0-7", "8-14"}));
  EXPECT_EQ(verdict_of(two_sockets(), node, "A14"), "");
  node.request = PlacementRequest{.reserve = "0,15"};
  EXPECT_EQ(verdict_of(two_sockets(), node, "A14"), "WARN 0");
  EXPECT_THAT(finding_of(two_sockets(), node, "A14").seen, HasSubstr("CPU 0"));
}

TEST(StrayThreads, AreThoseOutsideTheFirstThreadsCpus) {
  auto node = ranks_on(two_sockets(), each({"0-7", "8-15"}));
  node.ranks[1].main_cpus = cpus("8-11");
  EXPECT_EQ(verdict_of(two_sockets(), node, "A21"), "WARN 1");
  node.ranks[1].environment["OMP_PROC_BIND"] = "close";
  EXPECT_EQ(verdict_of(two_sockets(), node, "A21"), "") << "OpenMP binds each thread by itself";
}

TEST(OpenMpElsewhere, ReadsGompCpuAffinity) {
  auto node = ranks_on(two_sockets(), each({"0-7", "8-15"}));
  for (auto& rank : node.ranks) rank.environment["GOMP_CPU_AFFINITY"] = "0-3:2 4";
  EXPECT_EQ(verdict_of(two_sockets(), node, "A22"), "WARN 1");
}

}  // namespace
}  // namespace dllaunch
