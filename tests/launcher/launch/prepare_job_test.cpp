#include "launcher/launch/prepare_job.hpp"

#include <gmock/gmock.h>

#include "support/json.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/support/fake_system.hpp"
#include "topology/node/synthetic.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

FakeSystem laptop() {
  FakeSystem system;
  system.node = *synthetic_topology("cores:2");
  system.files["job.yaml"] = "name: j\nresources: {ranks_per_node: 2}\nrun: [echo, hi]\n";
  system.files["small.json"] = to_json(small_cluster()).dump();
  return system;
}

/// The answers of a Slurm whose nodes are Frontier's, but for the GPUs.
void answer_as(FakeSystem& system, const std::string& cluster, const std::string& partition,
               int gpus = 8) {
  const std::string node =
      "NodeName=n1 CPUTot=128 CoresPerSocket=64 Sockets=1 ThreadsPerCore=2 "
      "CoreSpecCount=8 CPUEfctv=112 RealMemory=512000 Gres=gpu:" +
      std::to_string(gpus) + " State=IDLE Partitions=" + partition + "\n";
  auto other = node;
  other.replace(other.find("n1"), 2, "n2");
  system.programs = {"sinfo", "scontrol", "srun"};
  system.answers["scontrol show config"] = {
      0, "ClusterName = " + cluster + "\nSLURM_VERSION = 23.02.7\n", ""};
  system.answers["scontrol --all --oneliner show partition"] = {
      0, "PartitionName=" + partition + " Default=YES MaxTime=UNLIMITED State=UP Nodes=n[1-2]\n",
      ""};
  system.answers["scontrol --all --oneliner show node"] = {0, node + other, ""};
}

TEST(PrepareJob, PlansForWhatIsHere) {
  auto system = laptop();
  const auto made = plan_job(system, {.job = "job.yaml"});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->launcher, Launcher::local);
  EXPECT_EQ(made->ranks(), 2);
  EXPECT_THAT(made->paths.run_dir, HasSubstr("/runs/j-"));
}

TEST(PrepareJob, VariablesOfThisMachineCountForItsOwnSlurmAlone) {
  auto system = laptop();
  answer_as(system, "here", "batch");
  system.variables = {{"SBATCH_QOS", "long"}, {"SBATCH_PARTITION", "other"}};
  const auto has = [](const LaunchPlan& plan, const std::string& option, const std::string& value) {
    return std::find(plan.sbatch.begin(), plan.sbatch.end(), std::pair(option, value)) !=
           plan.sbatch.end();
  };
  const auto made = plan_job(system, {.job = "job.yaml", .sets = {"resources.partition=batch"}});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_TRUE(has(*made, "--qos", "long"));
  EXPECT_TRUE(has(*made, "--partition", "batch"));
  EXPECT_THAT(made->warnings, testing::Contains(StartsWith("SBATCH_PARTITION=other is set here")));
  const auto elsewhere = plan_job(system, {.job = "job.yaml", .facts = "small.json"});
  ASSERT_TRUE(elsewhere) << elsewhere.error().what;
  EXPECT_FALSE(has(*elsewhere, "--qos", "long"));
  for (const auto& warning : elsewhere->warnings)
    EXPECT_THAT(warning, testing::Not(HasSubstr("SBATCH_")));
}

TEST(PrepareJob, PlansForAClusterThatIsNotHere) {
  auto system = laptop();
  const auto made =
      plan_job(system, {.job = "job.yaml", .sets = {"resources.nodes=2"}, .facts = "small.json"});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->launcher, Launcher::slurm);
  EXPECT_EQ(made->ranks(), 4);
  EXPECT_TRUE(system.ran.empty()) << "with --facts nothing is asked";
}

TEST(PrepareJob, LocallySlurmIsNotAsked) {
  auto system = laptop();
  system.programs = {"sinfo", "scontrol"};
  EXPECT_FALSE(plan_job(system, {.job = "job.yaml"})) << "its controller is silent";
  const auto made = plan_job(system, {.job = "job.yaml", .local = true});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->launcher, Launcher::local);
}

FakeSystem traveller(const std::string& cluster) {
  auto system = laptop();
  system.files["job.yaml"] =
      "name: j\ncluster: " + cluster + "\nresources: {nodes: 2}\nrun: [echo, hi]\n";
  return system;
}

TEST(PrepareJob, ANamedClusterNeedsNoSlurm) {
  auto system = traveller("frontier");
  const auto made = plan_job(system, {.job = "job.yaml"});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->launcher, Launcher::slurm);
  EXPECT_EQ(made->ranks(), 16);
  EXPECT_EQ(made->cluster, "frontier");
  EXPECT_EQ(made->origin.source, "profile");
  EXPECT_TRUE(system.ran.empty()) << "nothing is asked";
}

TEST(PrepareJob, ANamedClusterIsNotTheSlurmThatIsHere) {
  auto system = traveller("frontier");
  answer_as(system, "home", "batch");
  const auto made = plan_job(system, {.job = "job.yaml"});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->origin.source, "profile");
  const auto facts = find_facts(system, {}, "frontier");
  ASSERT_TRUE(facts) << facts.error().what;
  const auto refused = check_submittable(*facts, *made);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(refused.error().what,
            "the job is for frontier, which is not here: the Slurm here is cluster 'home'");
}

TEST(PrepareJob, OneSignIsEnoughForANamedCluster) {
  auto system = traveller("./mine.yaml");
  answer_as(system, "home", "batch");
  const auto planned_with = [&system](const char* signs) {
    system.files["./mine.yaml"] = std::string("name: mine\nrecognise: ") + signs +
                                  "\nnode_types: {a: {cores: 64, threads: 2}}\n"
                                  "partitions: [{name: p, node: a, nodes: 9, default: true}]\n";
    const auto facts = find_facts(system, {}, "./mine.yaml");
    EXPECT_TRUE(facts);
    return facts && !facts->from_profile;
  };
  system.host = "glogin1";
  EXPECT_TRUE(planned_with("{hosts: [alogin*], partitions: [batch]}")) << "the partition";
  EXPECT_TRUE(planned_with("{clusters: [home], partitions: [other]}")) << "the cluster's name";
  EXPECT_TRUE(planned_with("{clusters: [x], hosts: [glogin*]}")) << "the host";
  EXPECT_FALSE(planned_with("{clusters: [x], partitions: [batch]}")) << "it has another name";
  EXPECT_TRUE(
      planned_with("{clusters: [x], partitions: [batch]}\n"
                   "unverified: {recognise.clusters: not seen}"))
      << "that name is unverified";
  EXPECT_FALSE(planned_with("{hosts: [alogin*], partitions: [acc]}")) << "no sign at all";
}

TEST(PrepareJob, AProfileWithoutASignHereDoesNotLockItsUserOut) {
  auto system = traveller("lumi-g");
  answer_as(system, "home", "ai-g");
  const PlanOptions there{.job = "job.yaml", .sets = {"resources.partition=ai-g"}};
  const auto made = plan_job(system, there);
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->cluster, "lumi-g");
  EXPECT_EQ(made->origin.source, "profile") << "the nodes are as the profile has them";
  EXPECT_EQ(made->node_folders.size(), 2u) << "and what else it knows is used";
  EXPECT_THAT(made->warnings,
              testing::Contains("the Slurm here does not look like lumi-g (its name is 'home', "
                                "this host is localhost, it has no partition standard-g or small-g "
                                "or dev-g): its own partitions and nodes count"));
  EXPECT_TRUE(check_submittable(*find_facts(system, {}, "lumi-g", "ai-g"), *made));

  const auto elsewhere = find_facts(system, {}, "lumi-g", "standard-g");
  ASSERT_TRUE(elsewhere);
  EXPECT_TRUE(elsewhere->from_profile) << "a partition of LUMI's that is not here";
  const auto automatic =
      plan_job(system, {.job = "job.yaml", .sets = {"cluster=auto", "resources.partition=ai-g"}});
  ASSERT_TRUE(automatic) << automatic.error().what;
  EXPECT_EQ(automatic->profile, "") << "the job does not name it";
}

TEST(PrepareJob, AutoRecognisesTheClusterThatIsHere) {
  auto system = traveller("auto");
  answer_as(system, "frontier", "batch");
  const auto made = plan_job(system, {.job = "job.yaml"});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->cluster, "frontier");
  EXPECT_EQ(made->origin.source, "profile") << "Slurm counts the nodes as the profile does";
  EXPECT_TRUE(check_submittable(*find_facts(system, {}), *made));

  answer_as(system, "home", "batch");
  const auto unknown = plan_job(system, {.job = "job.yaml"});
  ASSERT_TRUE(unknown) << unknown.error().what;
  EXPECT_EQ(unknown->profile, "");
  EXPECT_EQ(unknown->origin.source, "slurm");
}

TEST(PrepareJob, SlurmsCountsOutweighTheProfiles) {
  auto system = traveller("auto");
  answer_as(system, "frontier", "batch", /*gpus=*/4);
  const auto made = plan_job(system, {.job = "job.yaml"});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->origin.source, "slurm");
  EXPECT_THAT(made->warnings,
              testing::Contains(HasSubstr("cluster profile frontier gives a gpu node 128 CPUs")));
}

TEST(PrepareJob, AProfileOfTheUsersWithoutSignsGoesWhereItIsNamed) {
  auto system = traveller("./mine.yaml");
  system.files["./mine.yaml"] = "name: mine\nvariables: {NCCL_DEBUG: WARN}\nmodules: [site]\n";
  answer_as(system, "home", "batch");
  const auto made = plan_job(system, {.job = "job.yaml"});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->cluster, "mine");
  EXPECT_THAT(made->environment, testing::Contains(testing::Pair("NCCL_DEBUG", "WARN")));
  EXPECT_THAT(made->modules, testing::ElementsAre("site"));
}

TEST(PrepareJob, AnotherSchedulersClusterIsPlannedAndNotSubmittedTo) {
  auto system = traveller("auto");
  system.host = "polaris-login-02";
  const auto facts = find_facts(system, {});
  const auto made = plan_job(system, {.job = "job.yaml"});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->cluster, "polaris");
  EXPECT_EQ(made->start.starter, "mpiexec");
  const auto refused = check_submittable(*facts, *made);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "polaris is run by PBS, and dllaunch writes sbatch scripts");
  const auto local =
      plan_job(system, {.job = "job.yaml", .sets = {"resources.nodes=1"}, .local = true});
  ASSERT_TRUE(local) << local.error().what;
  EXPECT_EQ(local->launcher, Launcher::local);
}

TEST(PrepareJob, RecordedFactsAndAClusterGoTogether) {
  auto system = traveller("lumi-g");
  system.files["lumi.json"] = to_json(lumi_like()).dump();
  const auto made = plan_job(
      system,
      {.job = "job.yaml", .sets = {"resources.partition=standard-g"}, .facts = "lumi.json"});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->cluster, "lumi-g");
  EXPECT_EQ(made->node_folders.size(), 2u);
}

TEST(PrepareJob, AnUnknownClusterSuggestsTheNearest) {
  auto system = traveller("fronteer");
  const auto made = plan_job(system, {.job = "job.yaml"});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, ErrorKind::bad_request);
  EXPECT_EQ(made.error().what, "no cluster profile 'fronteer'; did you mean 'frontier'?");
}

TEST(PrepareJob, SaysWhatIsWrongWithItsFiles) {
  auto system = laptop();
  system.files["bad.json"] = "{";
  system.files["list.json"] = "[]";
  const auto problem = [&system](const char* job, const char* facts) {
    const auto made = plan_job(system, {.job = job, .facts = facts});
    EXPECT_FALSE(made);
    EXPECT_EQ(made.error().kind, ErrorKind::bad_request);
    return made.error().what;
  };
  EXPECT_THAT(problem("none.yaml", ""), HasSubstr("none.yaml"));
  EXPECT_THAT(problem("job.yaml", "none.json"), HasSubstr("none.json"));
  EXPECT_THAT(problem("job.yaml", "bad.json"), StartsWith("bad.json: it is JSON, but damaged"));
  EXPECT_THAT(problem("job.yaml", "list.json"), StartsWith("list.json: facts:"));
}

}  // namespace
}  // namespace dllaunch
