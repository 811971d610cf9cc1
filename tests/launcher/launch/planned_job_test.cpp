#include "launcher/launch/planned_job.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/launcher/sample_plans.hpp"
#include "tests/support/fake_world.hpp"
#include "topology/node/synthetic.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

FakeWorld laptop() {
  FakeWorld world;
  world.node = *synthetic_topology("cores:2");
  world.files["job.yaml"] = "name: j\nresources: {ranks_per_node: 2}\nrun: [echo, hi]\n";
  world.files["small.json"] = to_json(small_cluster()).dump();
  return world;
}

/// The answers of a Slurm whose nodes are Frontier's, but for the GPUs.
void answer_as(FakeWorld& world, const std::string& cluster, const std::string& partition,
               int gpus = 8) {
  const std::string node =
      "NodeName=n1 CPUTot=128 CoresPerSocket=64 Sockets=1 ThreadsPerCore=2 "
      "CoreSpecCount=8 CPUEfctv=112 RealMemory=512000 Gres=gpu:" +
      std::to_string(gpus) + " State=IDLE Partitions=" + partition + "\n";
  auto other = node;
  other.replace(other.find("n1"), 2, "n2");
  world.programs = {"sinfo", "scontrol", "srun"};
  world.answers["scontrol show config"] = {
      0, "ClusterName = " + cluster + "\nSLURM_VERSION = 23.02.7\n", ""};
  world.answers["scontrol --all --oneliner show partition"] = {
      0, "PartitionName=" + partition + " Default=YES MaxTime=UNLIMITED State=UP Nodes=n[1-2]\n",
      ""};
  world.answers["scontrol --all --oneliner show node"] = {0, node + other, ""};
}

TEST(PlannedJob, PlansForWhatIsHere) {
  auto world = laptop();
  const auto made = plan_job(world, {.job = "job.yaml"});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->launcher, Launcher::local);
  EXPECT_EQ(made->ranks(), 2);
  EXPECT_THAT(made->paths.run_dir, HasSubstr("/runs/j-"));
}

TEST(PlannedJob, VariablesOfThisMachineCountForItsOwnSlurmAlone) {
  auto world = laptop();
  answer_as(world, "here", "batch");
  world.variables = {{"SBATCH_QOS", "long"}, {"SBATCH_PARTITION", "other"}};
  const auto has = [](const LaunchPlan& plan, const std::string& option, const std::string& value) {
    return std::find(plan.sbatch.begin(), plan.sbatch.end(), std::pair(option, value)) !=
           plan.sbatch.end();
  };
  const auto made = plan_job(world, {.job = "job.yaml", .sets = {"resources.partition=batch"}});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_TRUE(has(*made, "--qos", "long"));
  EXPECT_TRUE(has(*made, "--partition", "batch"));
  EXPECT_THAT(made->warnings, testing::Contains(StartsWith("SBATCH_PARTITION=other is set here")));
  const auto elsewhere = plan_job(world, {.job = "job.yaml", .facts = "small.json"});
  ASSERT_TRUE(elsewhere) << elsewhere.error().what;
  EXPECT_FALSE(has(*elsewhere, "--qos", "long"));
  for (const auto& warning : elsewhere->warnings)
    EXPECT_THAT(warning, testing::Not(HasSubstr("SBATCH_")));
}

TEST(PlannedJob, PlansForAClusterThatIsNotHere) {
  auto world = laptop();
  const auto made =
      plan_job(world, {.job = "job.yaml", .sets = {"resources.nodes=2"}, .facts = "small.json"});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->launcher, Launcher::slurm);
  EXPECT_EQ(made->ranks(), 4);
  EXPECT_TRUE(world.ran.empty()) << "with --facts nothing is asked";
}

TEST(PlannedJob, LocallySlurmIsNotAsked) {
  auto world = laptop();
  world.programs = {"sinfo", "scontrol"};
  EXPECT_FALSE(plan_job(world, {.job = "job.yaml"})) << "its controller is silent";
  const auto made = plan_job(world, {.job = "job.yaml", .local = true});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->launcher, Launcher::local);
}

FakeWorld traveller(const std::string& cluster) {
  auto world = laptop();
  world.files["job.yaml"] =
      "name: j\ncluster: " + cluster + "\nresources: {nodes: 2}\nrun: [echo, hi]\n";
  return world;
}

TEST(PlannedJob, ANamedClusterNeedsNoSlurm) {
  auto world = traveller("frontier");
  const auto made = plan_job(world, {.job = "job.yaml"});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->launcher, Launcher::slurm);
  EXPECT_EQ(made->ranks(), 16);
  EXPECT_EQ(made->cluster, "frontier");
  EXPECT_EQ(made->origin.source, "profile");
  EXPECT_TRUE(world.ran.empty()) << "nothing is asked";
}

TEST(PlannedJob, ANamedClusterIsNotTheSlurmThatIsHere) {
  auto world = traveller("frontier");
  answer_as(world, "home", "batch");
  const auto made = plan_job(world, {.job = "job.yaml"});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->origin.source, "profile");
  const auto facts = find_facts(world, {}, "frontier");
  ASSERT_TRUE(facts) << facts.error().what;
  const auto refused = check_submittable(*facts, *made);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(refused.error().what,
            "the job is for frontier, which is not here: the Slurm here is cluster 'home'");
}

TEST(PlannedJob, OneSignIsEnoughForANamedCluster) {
  auto world = traveller("./mine.yaml");
  answer_as(world, "home", "batch");
  const auto planned_with = [&world](const char* signs) {
    world.files["./mine.yaml"] = std::string("name: mine\nrecognise: ") + signs +
                                 "\nnode_types: {a: {cores: 64, threads: 2}}\n"
                                 "partitions: [{name: p, node: a, nodes: 9, default: true}]\n";
    const auto facts = find_facts(world, {}, "./mine.yaml");
    EXPECT_TRUE(facts);
    return facts && !facts->from_profile;
  };
  world.host = "glogin1";
  EXPECT_TRUE(planned_with("{hosts: [alogin*], partitions: [batch]}")) << "the partition";
  EXPECT_TRUE(planned_with("{clusters: [home], partitions: [other]}")) << "the cluster's name";
  EXPECT_TRUE(planned_with("{clusters: [x], hosts: [glogin*]}")) << "the host";
  EXPECT_FALSE(planned_with("{clusters: [x], partitions: [batch]}")) << "it has another name";
  EXPECT_TRUE(
      planned_with("{clusters: [x], partitions: [batch]}\n"
                   "unverified: {recognise.clusters: not seen}"))
      << "nobody is sure of that name";
  EXPECT_FALSE(planned_with("{hosts: [alogin*], partitions: [acc]}")) << "no sign at all";
}

TEST(PlannedJob, AProfileWithoutASignHereDoesNotLockItsUserOut) {
  auto world = traveller("lumi-g");
  answer_as(world, "home", "ai-g");
  const PlanOptions there{.job = "job.yaml", .sets = {"resources.partition=ai-g"}};
  const auto made = plan_job(world, there);
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->cluster, "lumi-g");
  EXPECT_EQ(made->origin.source, "profile") << "the nodes are as the profile has them";
  EXPECT_EQ(made->node_folders.size(), 2u) << "and what else it knows is used";
  EXPECT_THAT(
      made->warnings,
      testing::Contains("the Slurm here does not look like lumi-g (it calls itself 'home', this "
                        "host is localhost, it has no partition standard-g or small-g or "
                        "dev-g): its own partitions and nodes count"));
  EXPECT_TRUE(check_submittable(*find_facts(world, {}, "lumi-g", "ai-g"), *made));

  const auto elsewhere = find_facts(world, {}, "lumi-g", "standard-g");
  ASSERT_TRUE(elsewhere);
  EXPECT_TRUE(elsewhere->from_profile) << "a partition of LUMI's that is not here";
  const auto automatic =
      plan_job(world, {.job = "job.yaml", .sets = {"cluster=auto", "resources.partition=ai-g"}});
  ASSERT_TRUE(automatic) << automatic.error().what;
  EXPECT_EQ(automatic->profile, "") << "nobody named it";
}

TEST(PlannedJob, AutoRecognisesTheClusterThatIsHere) {
  auto world = traveller("auto");
  answer_as(world, "frontier", "batch");
  const auto made = plan_job(world, {.job = "job.yaml"});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->cluster, "frontier");
  EXPECT_EQ(made->origin.source, "profile") << "Slurm counts the nodes as the profile does";
  EXPECT_TRUE(check_submittable(*find_facts(world, {}), *made));

  answer_as(world, "home", "batch");
  const auto unknown = plan_job(world, {.job = "job.yaml"});
  ASSERT_TRUE(unknown) << unknown.error().what;
  EXPECT_EQ(unknown->profile, "");
  EXPECT_EQ(unknown->origin.source, "slurm");
}

TEST(PlannedJob, SlurmsCountsOutweighTheProfiles) {
  auto world = traveller("auto");
  answer_as(world, "frontier", "batch", /*gpus=*/4);
  const auto made = plan_job(world, {.job = "job.yaml"});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->origin.source, "slurm");
  EXPECT_THAT(made->warnings,
              testing::Contains(HasSubstr("cluster profile frontier gives a gpu node 128 CPUs")));
}

TEST(PlannedJob, AProfileOfTheUsersWithoutSignsGoesWhereItIsNamed) {
  auto world = traveller("./mine.yaml");
  world.files["./mine.yaml"] = "name: mine\nvariables: {NCCL_DEBUG: WARN}\nmodules: [site]\n";
  answer_as(world, "home", "batch");
  const auto made = plan_job(world, {.job = "job.yaml"});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->cluster, "mine");
  EXPECT_THAT(made->environment, testing::Contains(testing::Pair("NCCL_DEBUG", "WARN")));
  EXPECT_THAT(made->modules, testing::ElementsAre("site"));
}

TEST(PlannedJob, AnotherSchedulersClusterIsPlannedAndNotSubmittedTo) {
  auto world = traveller("auto");
  world.host = "polaris-login-02";
  const auto facts = find_facts(world, {});
  const auto made = plan_job(world, {.job = "job.yaml"});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->cluster, "polaris");
  EXPECT_EQ(made->start.front(), "mpiexec");
  const auto refused = check_submittable(*facts, *made);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "polaris is run by PBS, and dllaunch writes sbatch scripts");
  const auto local =
      plan_job(world, {.job = "job.yaml", .sets = {"resources.nodes=1"}, .local = true});
  ASSERT_TRUE(local) << local.error().what;
  EXPECT_EQ(local->launcher, Launcher::local);
}

TEST(PlannedJob, RecordedFactsAndAClusterGoTogether) {
  auto world = traveller("lumi-g");
  world.files["lumi.json"] = to_json(lumi_like()).dump();
  const auto made = plan_job(
      world, {.job = "job.yaml", .sets = {"resources.partition=standard-g"}, .facts = "lumi.json"});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->cluster, "lumi-g");
  EXPECT_EQ(made->node_folders.size(), 2u);
}

TEST(PlannedJob, AnUnknownClusterSuggestsTheNearest) {
  auto world = traveller("fronteer");
  const auto made = plan_job(world, {.job = "job.yaml"});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, ErrorKind::bad_request);
  EXPECT_EQ(made.error().what, "no cluster profile 'fronteer'; did you mean 'frontier'?");
}

TEST(PlannedJob, SaysWhatIsWrongWithItsFiles) {
  auto world = laptop();
  world.files["bad.json"] = "{";
  world.files["list.json"] = "[]";
  const auto problem = [&world](const char* job, const char* facts) {
    const auto made = plan_job(world, {.job = job, .facts = facts});
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
