// Each rule about CPUs fires on its problem, and only there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/diagnosis/observed_ranks.hpp"
#include "tests/topology/node/machines.hpp"

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

TEST(Unbound, IsReportedForSeveralRanks) {
  EXPECT_EQ(verdict_of(two_sockets(), ranks_on(two_sockets(), each({"0-15", "0-15"})), "A03"),
            "WARN 0-1");
  EXPECT_EQ(verdict_of(two_sockets(), ranks_on(two_sockets(), each({"0-7", "8-15"})), "A03"), "");
  EXPECT_EQ(verdict_of(two_sockets(), ranks_on(two_sockets(), each({"0-15"})), "A03"), "")
      << "alone on its node";
}

TEST(Unbound, IsNotReportedIfPlanned) {
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

TEST(FarFromGpu, AFilledNodeHasNoBetterCpus) {
  const auto node = fixture("leonardo-booster.json");
  const auto filled = each({"0-3,16-19", "4-7,20-23", "8-11,24-27", "12-15,28-31"});
  EXPECT_EQ(verdict_of(node, ranks_on(node, filled), "A01"), "");
  const auto wasteful = each({"0-1,16-19", "4-7,20-23", "8-11,24-27", "12-15,28-31"});
  EXPECT_EQ(verdict_of(node, ranks_on(node, wasteful), "A01"), "WARN 0-3") << "2 and 3 are free";
  EXPECT_EQ(verdict_of(two_sockets(), ranks_on(two_sockets(), each({"0-8", "9-15"})), "A01"),
            "WARN 0")
      << "CPU 8 is beside the other GPU";
}

TEST(IdleCores, AreNamedWithWhatUsesThem) {
  const auto node = fixture("leonardo-booster.json");
  const auto near = ranks_as_placed(node, *place_ranks(node, {}));
  EXPECT_EQ(verdict_of(node, near, "A26"), "WARN");
  const auto finding = finding_of(node, near, "A26");
  EXPECT_EQ(finding.seen, "no rank runs on CPUs 16-31, 16 cores that the job may use");
  EXPECT_THAT(finding.fix, HasSubstr("srun --cpu-bind=mask_cpu:0xf000f,0xf000f0,0xf000f00,"
                                     "0xf000f000; in a job file: binding: {cores: fill}"));
}

TEST(IdleCores, AreNotReportedIfNoRankCouldHaveOneMore) {
  const auto node = fixture("leonardo-booster.json");
  const auto filled = *place_ranks(node, {.cores = BindCores::fill});
  EXPECT_EQ(verdict_of(node, ranks_as_placed(node, filled), "A26"), "");
  const auto all_but_three = each({"0-3,16-18", "4-7,19-22", "8-11,23-25", "12-15,26-28"});
  EXPECT_EQ(verdict_of(node, ranks_on(node, all_but_three), "A26"), "") << "three for four ranks";
  auto part = node;
  part.allowed_cpus = cpus("0-15");
  EXPECT_EQ(verdict_of(part, ranks_as_placed(node, *place_ranks(node, {})), "A26"), "")
      << "the others are not the job's";
  auto half = ranks_as_placed(node, *place_ranks(node, {}));
  for (auto& rank : half.ranks) rank.environment["SLURM_CPUS_ON_NODE"] = "16";
  EXPECT_EQ(verdict_of(node, half, "A26"), "") << "nor are they where no cgroup says so";
  for (auto& rank : half.ranks) rank.environment["SLURM_CPUS_ON_NODE"] = "32";
  EXPECT_EQ(verdict_of(node, half, "A26"), "WARN");
  auto step = ranks_as_placed(node, *place_ranks(node, {}));
  for (auto& rank : step.ranks) rank.cpuset = cpus("0-15");
  EXPECT_EQ(verdict_of(node, step, "A26"), "") << "another step may run there";
  EXPECT_EQ(verdict_of(node, ranks_on(node, each({"0-31", "0-31", "0-31", "0-31"})), "A26"), "");
}

TEST(IdleCores, AreNotReportedIfLeftOnPurpose) {
  const auto node = fixture("leonardo-booster.json");
  auto near = ranks_as_placed(node, *place_ranks(node, {}));
  near.request = PlacementRequest{};
  EXPECT_EQ(verdict_of(node, near, "A26"), "WARN") << "auto requests nothing";
  near.request = PlacementRequest{.cores = BindCores::near};
  EXPECT_EQ(verdict_of(node, near, "A26"), "");
  near.request = PlacementRequest{.cores_per_rank = 4};
  EXPECT_EQ(verdict_of(node, near, "A26"), "");
  near.request = PlacementRequest{.mode = BindMode::core};
  EXPECT_EQ(verdict_of(node, near, "A26"), "");
  near.request = PlacementRequest{.reserve = "16-31"};
  EXPECT_EQ(verdict_of(node, near, "A26"), "");
  near.request.reset();
  near.ranks.pop_back();
  EXPECT_EQ(verdict_of(node, near, "A26"), "") << "a rank was not seen";
  for (auto& rank : near.ranks) rank.local_world_size = 3;
  EXPECT_EQ(verdict_of(node, near, "A26"), "WARN");
  for (auto& rank : near.ranks) rank.launcher = "openmpi";
  EXPECT_EQ(verdict_of(node, near, "A26"), "") << "a machine that others use as well";
}

}  // namespace
}  // namespace dllaunch
