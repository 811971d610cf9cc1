// The plan of every cluster that dllaunch knows, against what its site publishes. Figures only:
// each case says whose they are.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "launcher/base/shell_quote.hpp"
#include "launcher/cluster/cluster_catalog.hpp"
#include "launcher/cluster/profile_facts.hpp"
#include "support/json.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/json_file.hpp"
#include "topology/render/masks.hpp"

namespace dllaunch {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Facts known_cluster(const std::string& name) {
  FakeSystem system;
  auto profile = find_profile(system, name);
  EXPECT_TRUE(profile) << name;
  return *facts_from_profile(std::make_shared<const ClusterProfile>(*std::move(profile)));
}

/// Two nodes of the first partition, one rank per GPU.
LaunchPlan plan_on(const std::string& name, Job job = run_job()) {
  const auto facts = known_cluster(name);
  job.cluster = name;
  job.resources.nodes = 2;
  const auto& first = facts.slurm->partitions.at(0).name;
  if (!job.resources.partition && first != "any") job.resources.partition = first;
  return planned(job, facts);
}

std::vector<std::string> cpus_of(const LaunchPlan& plan) {
  std::vector<std::string> lists;
  for (const auto& rank : plan.placement.ranks) lists.push_back(to_list(rank.cpus));
  return lists;
}

/// "7" of `#SBATCH --cpus-per-task=7`; srun's line says the same.
std::string option_of(const LaunchPlan& plan, const std::string& option) {
  std::string of_sbatch;
  for (const auto& [name, value] : plan.sbatch)
    if (name == option) of_sbatch = value;
  std::string of_srun;
  for (const auto& word : plan.start.argv())
    if (word.starts_with(option + "=")) of_srun = word.substr(option.size() + 1);
  EXPECT_EQ(of_sbatch, of_srun) << option;
  return of_srun;
}

std::string cpu_bind_of(const LaunchPlan& plan) {
  for (const auto& word : plan.start.argv())
    if (word.starts_with("--cpu-bind=")) return word;
  return "";
}

/// What the profile decides, and nothing of what every script has.
std::string what_the_profile_decides(const LaunchPlan& plan) {
  const auto shown = render_plan(plan);
  const auto ours = plan.scheduler == "Slurm" ? shown.find("\n\n  srun") : std::string::npos;
  std::string text = shown.substr(0, ours) + "\n";
  if (plan.scheduler == "Slurm") {
    text += "\n  " + cpu_bind_of(plan) + "\n";
    text += "  CPUs per task:  " + option_of(plan, "--cpus-per-task") + "\n";
    if (const auto threads = option_of(plan, "--threads-per-core"); !threads.empty())
      text += "  of a core:    " + threads + " thread" + (threads == "1" ? "" : "s") + "\n";
  }
  text += "  map_cpu:      " + srun_map_cpu(plan.placement) + "\n";
  if (plan.scheduler == "Slurm" && !plan.suggested_modules.empty())
    text += "  modules?      " + shell_join(plan.suggested_modules) + "\n";
  for (const auto& module : plan.modules) text += "  module:       " + module + "\n";
  for (const auto& [name, value] : plan.environment)
    text += "  variable:     " + name + "=" + value + "\n";
  for (const auto& [name, path] : plan.node_folders)
    text += "  on each node: " + name + "=" + path + "\n";
  for (const auto& [option, value] : plan.sbatch)
    if (option == "--constraint") text += "  sbatch:       " + option + "=" + value + "\n";
  for (const auto& extra : plan.sbatch_extra) text += "  sbatch:       " + extra + "\n";
  if (!plan.host_suffix.empty()) text += "  host suffix:  " + plan.host_suffix + "\n";
  if (plan.scheduler == "Slurm")
    for (const auto& warning : plan.warnings) text += "  warning:      " + warning + "\n";
  return text;
}

TEST(ClusterPlans, AreAsTheyWereReviewed) {
  for (const auto& profile : embedded_cluster_profiles()) {
    const std::string name(profile.name);
    EXPECT_TRUE(matches_golden("launcher/clusters/" + name + ".txt",
                               what_the_profile_decides(plan_on(name))));
  }
}

// LUMI user guide, "LUMI-G example batch scripts" and "Distribution and binding".
TEST(ClusterPlans, LumiGIsTheGuidesOwnScript) {
  const auto plan = plan_on("lumi-g");
  EXPECT_EQ(srun_map_cpu(plan.placement), "map_cpu:49,57,17,25,1,9,33,41");
  EXPECT_EQ(cpu_bind_of(plan),
            "--cpu-bind=mask_cpu:0xfe000000000000,0xfe00000000000000,0xfe0000,0xfe000000,0xfe,"
            "0xfe00,0xfe00000000,0xfe0000000000");
  EXPECT_THAT(plan.environment, Contains(Pair("NCCL_SOCKET_IFNAME", "hsn0,hsn1,hsn2,hsn3")));
  EXPECT_THAT(plan.environment, Contains(Pair("NCCL_NET_GDR_LEVEL", "PHB")));
  EXPECT_THAT(plan.node_folders, Contains(Pair("MIOPEN_USER_DB_PATH", "/tmp/{user}-miopen-{job}")));
}

// LUMI: "Only 56 cores available", `srun --cpus-per-task=7`. Frontier: `srun -N1 -n8 -c7`. NERSC:
// scripts with --cpus-per-task=32 for each of four GPUs. JSC: one thread a core unless SMT is
// wanted, 48 cores. BSC's users: 80 CPUs per node, 20 for each GPU.
TEST(ClusterPlans, CpusPerTaskIsTheSitesOwnCount) {
  const auto counted = [](const char* name, bool smt) {
    auto job = run_job();
    job.binding.smt = smt;
    const auto plan = plan_on(name, job);
    return option_of(plan, "--cpus-per-task") + " " + option_of(plan, "--threads-per-core");
  };
  const auto no_smt = [&](const char* name) { return counted(name, false); };
  EXPECT_EQ(no_smt("lumi-g"), "7 1");
  EXPECT_EQ(no_smt("frontier"), "7 1");
  EXPECT_EQ(no_smt("juwels-booster"), "12 1");
  EXPECT_EQ(no_smt("leonardo-booster"), "8 ");
  EXPECT_EQ(no_smt("perlmutter"), "32 ");
  EXPECT_EQ(no_smt("marenostrum5-acc"), "20 ");
  EXPECT_EQ(no_smt("cte-power"), "40 ");
  EXPECT_EQ(counted("lumi-g", true), "14 2");
  EXPECT_EQ(counted("juwels-booster", true), "24 2");
}

TEST(ClusterPlans, TheProfilesMpiCountsUnlessSrunDoesNotListIt) {
  auto facts = known_cluster("lumi-g");
  auto job = run_job();
  job.resources.partition = "standard-g";
  const auto mpi = [&] { return planned(job, facts).start.options.at(0); };
  EXPECT_EQ(mpi(), "--mpi=cray_shasta");
  facts.slurm->mpi_types = {};
  EXPECT_EQ(mpi(), "--mpi=cray_shasta") << "the list is unknown";
  facts.slurm->mpi_types = {"none", "pmix"};
  EXPECT_EQ(mpi(), "--mpi=pmix");
}

TEST(ClusterPlans, LumiGWithSixCoresARankLeavesTheLastOneOut) {
  auto job = run_job();
  job.resources.cpus_per_rank = 6;
  EXPECT_THAT(cpus_of(plan_on("lumi-g", job)),
              ElementsAre("49-54", "57-62", "17-22", "25-30", "1-6", "9-14", "33-38", "41-46"));
}

// Frontier user guide, "Frontier Compute Nodes": each L3 region and its GPU; output of
// `srun -N1 -n8 -c7 --gpus-per-task=1 --gpu-bind=closest`, which numbers ranks along the L3s.
TEST(ClusterPlans, FrontierPairsEachGpuWithItsL3) {
  const std::map<int, std::string> published = {{4, "1-7"},   {5, "9-15"},  {2, "17-23"},
                                                {3, "25-31"}, {6, "33-39"}, {7, "41-47"},
                                                {0, "49-55"}, {1, "57-63"}};
  const std::map<int, std::string> bus = {{4, "d1"}, {5, "d6"}, {2, "c9"}, {3, "ce"},
                                          {6, "d9"}, {7, "de"}, {0, "c1"}, {1, "c6"}};
  const auto plan = plan_on("frontier");
  ASSERT_EQ(plan.placement.ranks.size(), 8u);
  for (const auto& rank : plan.placement.ranks) {
    const auto& gpu = plan.topology.gpus.at(static_cast<std::size_t>(rank.gpus.at(0)));
    EXPECT_EQ(gpu.index, rank.local_rank);
    EXPECT_EQ(to_list(rank.cpus), published.at(gpu.index));
    EXPECT_EQ(gpu.pci, "0000:" + bus.at(gpu.index) + ":00.0");
  }
  auto job = run_job();
  job.binding.order = RankOrder::numa;
  EXPECT_THAT(cpus_of(plan_on("frontier", job)),
              ElementsAre("1-7", "9-15", "17-23", "25-31", "33-39", "41-47", "49-55", "57-63"))
      << "and in the guide's own order of ranks";
}

// ALCF user guide, Polaris, "Device affinity" and the example with four applications.
TEST(ClusterPlans, PolarisRunsBackwards) {
  const auto plan = plan_on("polaris");
  EXPECT_THAT(cpus_of(plan), ElementsAre("24-31", "16-23", "8-15", "0-7"));
  EXPECT_EQ(plan.placement.ranks.at(1).nic, "hsn1") << "GPU 1 and the second adapter: PHB";
  EXPECT_EQ(plan.placement.ranks.at(3).nic, "hsn0") << "GPU 3 and the first adapter: PHB";
  EXPECT_EQ(shell_join(plan.start.argv()),
            "mpiexec -n 8 --ppn 4 --cpu-bind list:24-31:16-23:8-15:0-7 "
            "/opt/dllaunch/bin/dllaunch exec --run-dir /scratch/me/runs/job-20261120-200000-ab12 "
            "--framework none -- python3 train.py --epochs 3");
}

// nvidia-smi topo -m of a Perlmutter GPU node in a public script: GPU 0 is on NUMA node 3.
TEST(ClusterPlans, PerlmutterRunsBackwards) {
  const auto plan = plan_on("perlmutter");
  EXPECT_THAT(cpus_of(plan), ElementsAre("48-63", "32-47", "16-31", "0-15"));
  EXPECT_EQ(to_list(plan.topology.gpus.at(0).cpus), "48-63,112-127");
  EXPECT_EQ(to_list(plan.topology.gpus.at(3).cpus), "0-15,64-79");
  EXPECT_THAT(plan.sbatch, Contains(Pair("--constraint", "gpu")));
}

/// Asked for on Perlmutter, planned away from it.
LaunchPlan perlmutter_plan(const Resources& resources) {
  auto job = run_job();
  job.cluster = "perlmutter";
  job.resources = resources;
  return planned(job, known_cluster("perlmutter"));
}

std::string constraint_of(const LaunchPlan& plan) {
  for (const auto& [option, value] : plan.sbatch) {
    EXPECT_NE(option, "--partition") << "users name none there";
    if (option == "--constraint") return value;
  }
  return "none";
}

TEST(ClusterPlans, PerlmuttersConstraintIsThatOfTheNodesThatAreMeant) {
  EXPECT_EQ(constraint_of(perlmutter_plan({})), "gpu");
  EXPECT_EQ(constraint_of(perlmutter_plan({.partition = "gpu-hbm80g"})), "gpu&hbm80g");
  const auto cpus = perlmutter_plan({.partition = "cpu"});
  EXPECT_EQ(constraint_of(cpus), "cpu");
  EXPECT_EQ(cpus.topology.present_cpus.size(), 256);
  EXPECT_EQ(constraint_of(perlmutter_plan({.device = "cpu"})), "cpu");
  EXPECT_EQ(constraint_of(perlmutter_plan({.constraint = "hbm80g"})), "hbm80g");
  EXPECT_EQ(perlmutter_plan({.constraint = "gpu&hbm80g"}).topology.gpus.at(0).name,
            "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(constraint_of(perlmutter_plan({.sbatch_extra = {"-C hbm40g"}})), "none")
      << "the user's own line says it";
}

/// Slurm there, with partitions that the profile does not list.
Facts perlmutter_itself() {
  auto facts = known_cluster("perlmutter");
  facts.from_profile = false;
  const auto types = facts.slurm->partitions.at(0).node_types;
  const auto with = [](NodeType type, const std::string& feature) {
    type.features.push_back(feature);
    return type;
  };
  facts.slurm->partitions = {{.name = "gpu_ss11",
                              .up = true,
                              .node_types = {with(types.at(0), "a100"), with(types.at(1), "a100")}},
                             {.name = "cpu_ss11", .up = true, .node_types = {types.at(2)}}};
  return facts;
}

TEST(ClusterPlans, PerlmuttersNodesAreKnownByTheirLooks) {
  const auto facts = perlmutter_itself();
  auto job = run_job();
  job.resources.nodes = 2;
  job.resources.partition = "gpu_ss11";
  const auto plan = planned(job, facts);
  EXPECT_EQ(plan.origin.source, "profile");
  EXPECT_THAT(cpus_of(plan), ElementsAre("48-63", "32-47", "16-31", "0-15"));
  EXPECT_EQ(cpu_bind_of(plan),
            "--cpu-bind=mask_cpu:0xffff000000000000,0xffff00000000,0xffff0000,"
            "0xffff");
  EXPECT_THAT(plan.sbatch, Contains(Pair("--partition", "gpu_ss11")));
  EXPECT_THAT(plan.sbatch, testing::Not(Contains(Pair("--constraint", testing::_))))
      << "the profile does not list the partition; the user knows it";
  job.resources.constraint = "hbm80g";
  EXPECT_EQ(planned(job, facts).topology.gpus.at(0).name, "NVIDIA A100-SXM4-80GB");
  job.resources.constraint.reset();
  job.resources.partition = "cpu_ss11";
  EXPECT_EQ(planned(job, facts).topology.present_cpus.size(), 256);
  EXPECT_THAT(cpus_of(planned(job, facts)).front(), HasSubstr("0-15"));
}

// Summit user guide and Hello_jsrun: `jsrun -n6 -a1 -c7 -g1` starts ranks on hardware threads
// 0, 28, 56, 88, 116 and 144, seven cores and a GPU each.
TEST(ClusterPlans, SummitIsSixResourceSets) {
  const auto plan = plan_on("summit");
  std::vector<int> first;
  for (const auto& rank : plan.placement.ranks) {
    first.push_back(rank.cpus.first());
    EXPECT_EQ(rank.cpus.size(), 7);
  }
  EXPECT_THAT(first, ElementsAre(0, 28, 56, 88, 116, 144));
  EXPECT_FALSE(plan.topology.allowed_cpus.contains(84)) << "one core a socket is the system's";
  EXPECT_THAT(shell_join(plan.start.argv()), HasSubstr("jsrun -n 12 -r 6 -a 1 -c 7 -g 1 -d packed "
                                                       "-b packed:7 -l GPU-CPU"));
}

// POP centre of excellence, "GPU affinity on JUWELS Booster": NUMA nodes of GPUs 0 to 3.
TEST(ClusterPlans, JuwelsBoosterFollowsItsNumaTable) {
  const auto plan = plan_on("juwels-booster");
  std::vector<std::string> numa;
  for (const auto& rank : plan.placement.ranks) numa.push_back(to_list(rank.numa));
  EXPECT_THAT(numa, ElementsAre("3", "1", "7", "5"));
  EXPECT_THAT(cpus_of(plan), ElementsAre("18-23", "6-11", "42-47", "30-35"));
  EXPECT_EQ(plan.host_suffix, "i");
}

// POP centre of excellence, "GPU affinity on MareNostrum 5": --cpu-bind=map_cpu:0,20,40,60.
TEST(ClusterPlans, MareNostrum5IsThePublishedMap) {
  const auto plan = plan_on("marenostrum5-acc");
  EXPECT_EQ(srun_map_cpu(plan.placement), "map_cpu:0,20,40,60");
  EXPECT_EQ(to_list(plan.placement.ranks.at(1).numa), "0");
  EXPECT_EQ(to_list(plan.placement.ranks.at(2).numa), "1");
}

Job asking_for_cores(std::optional<int> cpus_per_rank, BindCores cores = BindCores::automatic) {
  auto job = run_job();
  job.resources.cpus_per_rank = cpus_per_rank;
  job.binding.cores = cores;
  return job;
}

const std::string idle_half =
    "16 of 32 usable cores stay idle (CPUs 16-31): no GPU of these ranks is near them; "
    "binding.cores: fill assigns them after the near ones (--cpus-per-task=8 counts them all the "
    "same: a step that asks for fewer does not get the whole node)";

// CINECA's pages: 32 cores, four GPUs; all of them beside the first half of the cores.
TEST(ClusterPlans, LeonardoBoosterSaysWhichHalfIdles) {
  for (const auto mode : {BindMode::cores, BindMode::numa}) {
    auto job = run_job();
    job.binding.mode = mode;
    const auto plan = plan_on("leonardo-booster", job);
    EXPECT_THAT(cpus_of(plan), ElementsAre("0-3", "4-7", "8-11", "12-15"));
    EXPECT_EQ(option_of(plan, "--cpus-per-task"), "8");
    EXPECT_THAT(plan.warnings, Contains(idle_half));
    EXPECT_THAT(render_plan(plan), HasSubstr("warning: " + idle_half));
  }
  auto part = run_job();
  part.resources.exclusive = false;
  EXPECT_THAT(plan_on("leonardo-booster", part).warnings, testing::IsEmpty())
      << "of a part of a node Slurm chooses the cores";
  const auto near = plan_on("leonardo-booster", asking_for_cores({}, BindCores::near));
  EXPECT_THAT(near.warnings, testing::IsEmpty()) << "asked for";
}

// Whichever way the cores are asked for: what is bound is what --cpus-per-task says.
TEST(ClusterPlans, LeonardoBoosterFilledOrAskedForEightIsAllBound) {
  for (const auto& job : {asking_for_cores({}, BindCores::fill), asking_for_cores(8),
                          asking_for_cores(8, BindCores::fill)}) {
    const auto plan = plan_on("leonardo-booster", job);
    EXPECT_THAT(cpus_of(plan), ElementsAre("0-3,16-19", "4-7,20-23", "8-11,24-27", "12-15,28-31"));
    for (const auto& rank : plan.placement.ranks)
      EXPECT_EQ(std::to_string(rank.cpus.size()), option_of(plan, "--cpus-per-task"));
    EXPECT_EQ(cpu_bind_of(plan), "--cpu-bind=mask_cpu:0xf000f,0xf000f0,0xf000f00,0xf000f000");
    EXPECT_THAT(plan.warnings, testing::IsEmpty());
    EXPECT_THAT(render_plan(plan),
                HasSubstr("cores: near cores first, then far ones for ranks 0-3 (CPUs 16-31): "));
  }
  const auto near = plan_on("leonardo-booster", asking_for_cores(8, BindCores::near));
  EXPECT_THAT(cpus_of(near), ElementsAre("0-3", "4-7", "8-11", "12-15"));
  EXPECT_THAT(near.warnings, Contains(HasSubstr("fewer than the 8 cores asked for")));
}

// Every cluster's node, filled: no CPU twice, none over, and as many as --cpus-per-task says.
TEST(ClusterPlans, FillUsesEveryCoreOfEveryCluster) {
  for (const auto& profile : embedded_cluster_profiles()) {
    const std::string name(profile.name);
    const auto plan = plan_on(name, asking_for_cores({}, BindCores::fill));
    IdSet bound;
    for (const auto& rank : plan.placement.ranks) {
      EXPECT_FALSE(bound.intersects(rank.cpus)) << name;
      bound |= rank.cpus;
    }
    for (const auto& core : plan.topology.cores)
      EXPECT_TRUE(bound.intersects(core.cpus) || !core.cpus.intersects(plan.topology.allowed_cpus))
          << name << ": no rank has CPUs " << to_list(core.cpus);
    EXPECT_THAT(plan.warnings, testing::Each(testing::Not(HasSubstr("idle")))) << name;
  }
}

// No site's page was at hand: as on Lassen, the same machine type, two GPUs a socket.
TEST(ClusterPlans, CtePowerIsLeftToTheRanks) {
  const auto plan = plan_on("cte-power");
  EXPECT_EQ(srun_map_cpu(plan.placement), "map_cpu:0,40,80,120");
  EXPECT_EQ(cpu_bind_of(plan), "--cpu-bind=none") << "the node is unprobed: the shim discovers it";
}

TEST(ClusterPlans, ThetaHasOneRankANode) {
  const auto plan = plan_on("theta");
  EXPECT_THAT(cpus_of(plan), ElementsAre("0-63"));
  auto job = run_job();
  job.resources.ranks_per_node = 4;
  const auto four = plan_on("theta", job);
  EXPECT_THAT(shell_join(four.start.argv()),
              HasSubstr("aprun -n 8 -N 4 -d 16 -j 1 -cc depth python3"));
  EXPECT_THAT(four.warnings, Contains(HasSubstr("the program has to ask MPI")));
}

TEST(ClusterPlans, ExamplesAreNoReadings) {
  for (const char* name : {"generic-nvidia", "generic-amd", "cpu"}) {
    const auto plan = plan_on(name);
    EXPECT_FALSE(plan.exact) << name;
    EXPECT_EQ(cpu_bind_of(plan), "--cpu-bind=none") << name;
  }
}

// ---- the sites' figures as they were collected beside this repository --------------------------

Json site_figures(const std::string& file) {
  return json_of_file(std::string(DLLAUNCH_SOURCE_DIR) + "/../shared/topologies/expected/" + file);
}

/// "49-55" or "24-31,56-63": the first threads are the cores.
TEST(ClusterPlans, AgreeWithTheCollectedTables) {
  const auto lumi = site_figures("site.lumi-g.json");
  if (lumi.is_discarded()) GTEST_SKIP() << "no ../shared/topologies beside this checkout";
  std::size_t compared = 0;
  const auto plan = plan_on("lumi-g");
  for (const auto& task : lumi["cases"][1]["tasks"]) {
    const auto& rank = plan.placement.ranks.at(task["task"].get<std::size_t>());
    EXPECT_EQ("0x" + to_mask(rank.cpus).substr(2), task["mask"]);
    EXPECT_EQ(rank.gpus, task["gpus"].get<std::vector<int>>());
    ++compared;
  }
  for (const auto& [gpu, numa] : lumi["rocm_smi_showtoponuma"].items()) {
    EXPECT_EQ(to_list(plan.topology.gpus.at(std::stoul(gpu)).numa),
              std::to_string(numa.get<int>()));
    ++compared;
  }
  const auto frontier = plan_on("frontier");
  const auto frontier_figures = site_figures("site.frontier.json");
  for (const auto& task : frontier_figures["cases"][0]["tasks"]) {
    const auto& rank = frontier.placement.ranks.at(task["gpus"][0].get<std::size_t>());
    EXPECT_EQ(to_list(rank.cpus), task["observed_cpus"]);
    ++compared;
  }
  const auto polaris = plan_on("polaris");
  const auto polaris_figures = site_figures("site.polaris.json");
  for (const auto& [gpu, where] : polaris_figures["gpus"].items()) {
    EXPECT_EQ(to_list(polaris.topology.gpus.at(std::stoul(gpu)).cpus), where["cpus"]);
    ++compared;
  }
  const std::map<std::string, std::string> tables = {{"NERSC", "perlmutter"},
                                                     {"BSC", "marenostrum5-acc"}};
  const auto published = site_figures("published-tables.json");
  for (const auto& table : published["tables"]) {
    const std::string site = table["site"];
    const auto known = tables.find(site.substr(0, site.find(' ')));
    if (known == tables.end()) continue;
    const auto here = plan_on(known->second);
    for (const auto& [gpu, where] : table["gpus"].items()) {
      const auto& ours = here.topology.gpus.at(std::stoul(gpu));
      EXPECT_EQ(to_list(ours.numa), std::to_string(where["numa"].get<int>())) << site;
      if (where.contains("cpus")) {
        EXPECT_EQ(to_list(ours.cpus), where["cpus"]) << site;
      }
      ++compared;
    }
  }
  EXPECT_EQ(compared, 36u) << "every figure that is there";
}

}  // namespace
}  // namespace dllaunch
