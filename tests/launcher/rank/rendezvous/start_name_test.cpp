#include "launcher/rank/rendezvous/start_name.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace dllaunch {
namespace {

using Variables = std::map<std::string, std::string>;

EnvLookup in(Variables variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

const RankEnv by_slurm{.launcher = "slurm"};
const RankEnv by_openmpi{.launcher = "openmpi"};

TEST(StartName, OfASlurmStepSaysJobStepAndRestart) {
  EXPECT_EQ(start_name(by_slurm, in({{"SLURM_JOB_ID", "12"}, {"SLURM_STEP_ID", "3"}}), "x"),
            "slurm-12.3-r0");
  EXPECT_EQ(
      start_name(by_slurm,
                 in({{"SLURM_JOBID", "12"}, {"SLURM_STEPID", "3"}, {"SLURM_RESTART_COUNT", "2"}}),
                 "x"),
      "slurm-12.3-r2");
}

TEST(StartName, HoldsNothingThatAFileNameMustNot) {
  EXPECT_EQ(start_name(by_slurm, in({{"SLURM_JOB_ID", "../1\n"}, {"SLURM_STEP_ID", "a b"}}), ""),
            "slurm-.._1_.a_b-r0");
}

TEST(StartName, OfMpirunIsTheSameForItsRanksAndOtherwiseNever) {
  const Variables one = {{"OMPI_MCA_orte_precondition_transports", "a-b"},
                         {"PMIX_NAMESPACE", "17.1"},
                         {"OMPI_COMM_WORLD_RANK", "0"}};
  auto other = one;
  other["OMPI_COMM_WORLD_RANK"] = "1";
  EXPECT_EQ(start_name(by_openmpi, in(one), "p1"), start_name(by_openmpi, in(other), "p2"));
  other["OMPI_MCA_orte_precondition_transports"] = "a-c";
  EXPECT_NE(start_name(by_openmpi, in(one), "p1"), start_name(by_openmpi, in(other), "p1"));
  other = one;
  other["SLURM_RESTART_COUNT"] = "1";
  EXPECT_NE(start_name(by_openmpi, in(one), "p1"), start_name(by_openmpi, in(other), "p1"));
}

TEST(StartName, WithoutAnythingElseTheParentCounts) {
  const RankEnv by_hydra{.launcher = "pmi"};
  EXPECT_EQ(start_name(by_hydra, in({}), "4-99"), start_name(by_hydra, in({}), "4-99"));
  EXPECT_NE(start_name(by_hydra, in({}), "4-99"), start_name(by_hydra, in({}), "5-99"));
}

TEST(StartName, OfSpawnOnlyItsProcessCounts) {
  const RankEnv by_spawn{.launcher = "dllaunch"};
  const auto around = in({{"FLUX_JOB_ID", "f1"}});
  EXPECT_EQ(start_name(by_spawn, around, "4-99"), start_name(by_spawn, in({}), "4-99"));
  EXPECT_NE(start_name(by_spawn, around, "4-99"), start_name(by_spawn, around, "5-99"));
}

TEST(StartName, HostsOfTheStepBeforeThoseOfTheJob) {
  const Variables both = {{"SLURM_STEP_NODELIST", "n[2-3]"}, {"SLURM_JOB_NODELIST", "n[1-9]"}};
  EXPECT_THAT(step_hosts(by_slurm, in(both)), testing::ElementsAre("n2", "n3"));
  EXPECT_THAT(step_hosts(by_openmpi, in(both)), testing::IsEmpty());
  EXPECT_THAT(step_hosts(by_slurm, in({{"SLURM_STEP_NODELIST", "n[3-"}})), testing::IsEmpty());
}

TEST(StartName, AgreedPortsAreTheSameForAllAndSpreadOverJobs) {
  const auto ports = agreed_ports("slurm-12.0-r0");
  EXPECT_EQ(ports, agreed_ports("slurm-12.0-r0"));
  EXPECT_EQ(std::set<int>(ports.begin(), ports.end()).size(), ports.size());
  for (const int port : ports) EXPECT_TRUE(port > 60999 && port < 65536) << port;
  std::set<int> first;
  for (int job = 0; job < 200; ++job) {
    first.insert(agreed_ports("slurm-" + std::to_string(job) + ".0-r0").front());
  }
  EXPECT_GT(first.size(), 180u);
}

}  // namespace
}  // namespace dllaunch
