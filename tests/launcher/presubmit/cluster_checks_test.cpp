#include "launcher/presubmit/cluster_checks.hpp"

#include <gmock/gmock.h>

#include "tests/launcher/sample_plans.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

constexpr std::int64_t now = 1'800'000'000;
constexpr std::int64_t hour = 3600;

SlurmFacts cluster() {
  auto slurm = *mixed_cluster().slurm;
  slurm.enforced = {"associations", "limits", "qos"};
  slurm.reservations = {
      {.name = "course",
       .active = true,
       .start = now - hour,
       .end = now + hour,
       .hosts = {"g1", "g2"},
       .partition = "gpu",
       .users = {"bob"}},
      {.name = "later",
       .active = false,
       .start = now + hour,
       .end = now + 2 * hour,
       .hosts = {"g1"},
       .accounts = {"physics"}},
      {.name = "past", .active = false, .start = now - 2 * hour, .end = now - hour}};
  slurm.user = SlurmUser{
      .name = "alice",
      .groups = {"users"},
      .default_account = "physics",
      .associations = {{{"physics", "", {"normal", "fast"}}, {"bio", "gpu", {"normal"}}}}};
  return slurm;
}

Job job(int nodes = 1) {
  auto made = run_job();
  made.resources.nodes = nodes;
  made.resources.time = "00:30:00";
  return made;
}

/// All that was found, "!" before what is fatal, one a line.
std::string found(const Job& asked, const SlurmFacts& slurm) {
  std::string all;
  for (const auto& [problem, fatal, of_node_count, check] : check_cluster(asked, slurm, now))
    all += (fatal ? "!" : "") + problem.what + " (" + problem.hint + ")\n";
  return all;
}

TEST(ClusterChecks, EachFindingNamesItsCheck) {
  auto asked = job(99);
  asked.resources.account = "phisics";
  asked.resources.reservation = "past";
  std::string names;
  for (const auto& finding : check_cluster(asked, cluster(), now))
    names += std::string(to_string(finding.check)) + " ";
  EXPECT_EQ(names, "nodes account reservation ");
  auto nowhere = job();
  nowhere.resources.partition = "gpu,gpuu";
  const auto missing = check_cluster(nowhere, cluster(), now);
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0].check, QueueCheck::partition) << missing[0].problem.what;
}

TEST(ClusterChecks, AGoodJobHasNothingAgainstIt) {
  EXPECT_EQ(found(job(), cluster()), "");
}

TEST(ClusterChecks, AllProblemsInOneGo) {
  auto bad = job(9);
  bad.resources.partition = "gpu";
  bad.resources.time = "9:00:00";
  bad.resources.account = "phisics";
  bad.resources.reservation = "cours";
  bad.resources.sbatch_extra = {"--gres=gpu:v100:2"};
  const auto all = found(bad, cluster());
  EXPECT_THAT(all, HasSubstr("!asked for 9 nodes"));
  EXPECT_THAT(all, HasSubstr("!asked for 9:00:00, the limit of partition gpu is 90 minutes"));
  EXPECT_THAT(
      all, HasSubstr("!you are not a member of account phisics (set resources.account: physics)"));
  EXPECT_THAT(all, HasSubstr("!no reservation 'cours' (set resources.reservation: course)"));
  EXPECT_THAT(all,
              HasSubstr("asks for GPUs of type v100, partition gpu has GPUs of type a100 h100"));
}

TEST(ClusterChecks, NamesAreTheSameInAnyCase) {
  auto slurm = cluster();
  slurm.partitions[1].accounts.allowed = {"physics"};
  slurm.partitions[1].qos.allowed = {"fast"};
  slurm.reservations->at(0).users = {"alice"};
  slurm.reservations->at(0).accounts = {"physics"};
  auto asked = job();
  asked.resources.partition = "gpu";
  asked.resources.account = "PHYSICS";
  asked.resources.qos = "Fast";
  asked.resources.reservation = "course";
  EXPECT_EQ(found(asked, slurm), "");
}

TEST(ClusterChecks, WithoutADefaultPartitionTheSiteMayChoose) {
  auto slurm = cluster();
  slurm.partitions[0].is_default = false;
  EXPECT_EQ(found(job(), slurm),
            "!this cluster has no default partition (set resources.partition)\n");
  slurm.submit_plugins = {"lua"};
  EXPECT_EQ(found(job(), slurm),
            "this cluster has no default partition: the site's job_submit plug-in (lua) has to "
            "choose one (set resources.partition)\n");
}

TEST(ClusterChecks, ALimitThatAQosMayLiftIsStillTold) {
  auto asked = job();
  asked.resources.partition = "gpu";
  asked.resources.qos = "fast";
  asked.resources.time = "9:00:00";
  EXPECT_THAT(found(asked, cluster()), HasSubstr("!asked for 9:00:00, the limit of partition gpu"));
}

/// Words in a name are no verdict.
TEST(ClusterChecks, ATimeAboveTheLimitIsToldOfAnyPartition) {
  auto slurm = cluster();
  for (auto& partition : slurm.partitions)
    if (partition.name == "gpu") partition.name = "allnodes";
  auto both = job(9);
  both.resources.partition = "allnodes";
  both.resources.time = "9:00:00";
  const auto all = found(both, slurm);
  EXPECT_THAT(all, HasSubstr("!asked for 9 nodes"));
  EXPECT_THAT(all, HasSubstr("!asked for 9:00:00, the limit of partition allnodes is 90 minutes"));
}

TEST(ClusterChecks, EveryKindOfGpuOfANodeIsThere) {
  auto slurm = cluster();
  slurm.partitions[1].node_types[0].gpu_gres = {{"a100", 2}, {"v100", 2}};
  auto asked = job();
  asked.resources.partition = "gpu";
  asked.resources.sbatch_extra = {"--gres=gpu:v100:2"};
  EXPECT_EQ(found(asked, slurm), "");
  asked.resources.sbatch_extra = {"--gres=gpu:p100:2"};
  EXPECT_THAT(found(asked, slurm), HasSubstr("has GPUs of type a100 h100 v100"));
}

TEST(ClusterChecks, AnUnknownPartitionIsSaidOnce) {
  auto bad = job();
  bad.resources.partition = "gpuu";
  EXPECT_EQ(found(bad, cluster()), "!no partition 'gpuu' on cluster 'cluster' (use gpu)\n");
}

TEST(ClusterChecks, ThePartitionsOwnRules) {
  auto slurm = cluster();
  auto& gpu = slurm.partitions[1];
  gpu.max_nodes = 2;
  gpu.accounts.allowed = {"bio"};
  gpu.qos.denied = {"fast"};
  gpu.groups.allowed = {"hpc"};
  auto asked = job(3);
  asked.resources.partition = "gpu";
  asked.resources.qos = "fast";
  const auto all = found(asked, slurm);
  EXPECT_THAT(all, HasSubstr("!asked for 3 nodes, but partition gpu gives a job at most 2"));
  EXPECT_THAT(all, HasSubstr("!partition gpu is closed to account physics (open to: bio)"));
  EXPECT_THAT(all, HasSubstr("!partition gpu is closed to QOS fast"));
  EXPECT_THAT(all, HasSubstr("!partition gpu is only for the groups hpc"));
  // Another may still take it.
  asked.resources.partition = "gpu,batch";
  EXPECT_THAT(found(asked, slurm), testing::Not(HasSubstr("!partition")));
  // root bypasses size and group limits.
  slurm.user->name = "root";
  asked.resources.partition = "gpu";
  EXPECT_THAT(found(asked, slurm), testing::Not(HasSubstr("at most")));
  EXPECT_THAT(found(asked, slurm), testing::Not(HasSubstr("groups")));
  gpu.min_nodes = 4;
  slurm.user->name = "alice";
  EXPECT_THAT(found(asked, slurm), HasSubstr("!asked for 3 nodes, partition gpu is for jobs of"));
}

TEST(ClusterChecks, APartitionThatTakesNoJobs) {
  auto slurm = cluster();
  auto asked = job();
  asked.resources.partition = "closed";
  slurm.partitions[2].state = "DRAIN";
  EXPECT_THAT(found(asked, slurm), HasSubstr("!partition closed is being drained"));
  slurm.partitions[2].state = "INACTIVE";
  EXPECT_THAT(found(asked, slurm), HasSubstr("!partition closed is inactive"));
  slurm.partitions[2].state = "DOWN";
  EXPECT_THAT(found(asked, slurm), testing::StartsWith("partition closed is down"));
}

TEST(ClusterChecks, WithoutATimeThePartitionsDefaultIsTold) {
  auto slurm = cluster();
  slurm.partitions[1].default_minutes = 10;
  auto asked = job();
  asked.resources.partition = "gpu";
  EXPECT_EQ(found(asked, slurm), "");
  asked.resources.time.reset();
  EXPECT_THAT(found(asked, slurm), testing::StartsWith("no resources.time: partition gpu ends"));
}

TEST(ClusterChecks, AccountsAndQosWhereSlurmEnforcesThem) {
  auto slurm = cluster();
  auto asked = job();
  asked.resources.account = "bio";
  asked.resources.partition = "batch";
  EXPECT_THAT(found(asked, slurm), HasSubstr("!you may use account bio in partition gpu only"));
  asked.resources.account = "physics";
  asked.resources.qos = "fats";
  EXPECT_THAT(found(asked, slurm),
              HasSubstr("!QOS fats is not open to account physics (set resources.qos: fast)"));
  slurm.user->default_account.clear();
  asked.resources.account.reset();
  EXPECT_THAT(found(asked, slurm),
              HasSubstr("!resources.account is not set, and you have no default account"));
  slurm.user->associations->clear();
  EXPECT_THAT(found(asked, slurm), HasSubstr("has no account for user alice"));
  slurm.enforced.clear();
  EXPECT_EQ(found(asked, slurm), "") << "any account will do";
}

TEST(ClusterChecks, ReservationsMustBeThereAndOpen) {
  auto asked = job();
  const auto with = [&asked](const char* name) {
    asked.resources.reservation = name;
    return found(asked, cluster());
  };
  EXPECT_THAT(with("course"), HasSubstr("!reservation course is not for alice with account physics "
                                        "(it is for: bob)"));
  EXPECT_THAT(with("later"), testing::StartsWith("reservation later is not active: the job waits"));
  EXPECT_THAT(with("past"), testing::StartsWith("!reservation past ended at"));
  asked.resources.nodes = 2;
  EXPECT_THAT(with("later"), HasSubstr("!asked for 2 nodes, reservation later has 1"));
  asked.resources.time = "02:00:00";
  EXPECT_THAT(with("later"), HasSubstr("before 02:00:00 have passed"));

  auto slurm = cluster();
  auto& course = slurm.reservations->at(0);
  asked = job();
  asked.resources.reservation = "course";
  asked.resources.partition = "batch";
  course.users = {"-bob"};
  EXPECT_EQ(found(asked, slurm),
            "!reservation course is in partition gpu, not batch (set resources.partition: gpu)\n");
  course.users = {"-alice"};
  EXPECT_THAT(found(asked, slurm), HasSubstr("!reservation course is not for alice"));
}

TEST(ClusterChecks, NodesOutOfOrderAreCountedAsThereButNotNow) {
  auto slurm = cluster();
  slurm.outages = {{{"g1", "elsewhere"}, "IDLE+DRAIN", "bad fan"}, {{"g2", "h1"}, "DOWN*", ""}};
  auto asked = job(2);
  asked.resources.partition = "gpu";
  const auto all = found(asked, slurm);
  EXPECT_EQ(all,
            "asked for 2 nodes, and 3 of the 4 there are out of order (g1: IDLE+DRAIN, bad fan; "
            "g2,h1: DOWN*) (use --set resources.nodes=1, or wait until they are back)\n");
  asked.resources.nodes = 1;
  EXPECT_EQ(found(asked, slurm), "");
}

TEST(ClusterChecks, SpareNodesAreAskedForToo) {
  auto slurm = cluster();
  slurm.partitions[1].max_nodes = 2;
  auto asked = job(2);
  asked.resources.partition = "gpu";
  EXPECT_EQ(found(asked, slurm), "");
  asked.recovery.spare_nodes = 1;
  EXPECT_EQ(found(asked, slurm),
            "!asked for 3 nodes, but partition gpu gives a job at most 2; 1 of them spare ones "
            "(lower recovery.spare_nodes or resources.nodes)\n");
}

TEST(ClusterChecks, WhatIsNotAboutTheNumberOfNodesDoesNotSpeakOfSpareOnes) {
  auto slurm = cluster();
  slurm.partitions[1].state = "DRAIN";
  auto asked = job(1);
  asked.resources.partition = "gpu";
  asked.recovery.spare_nodes = 1;
  EXPECT_EQ(found(asked, slurm).find("spare"), std::string::npos) << found(asked, slurm);
}

}  // namespace
}  // namespace dllaunch
