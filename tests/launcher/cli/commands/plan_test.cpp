#include <gmock/gmock.h>

#include "launcher/cli/command_line.hpp"
#include "support/json.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/support/fake_system.hpp"
#include "topology/node/synthetic.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Runs a command line as main() does, without the process.
Result<int> call(System& system, const std::vector<std::string>& args) {
  auto parsed =
      parse_command_line(command_groups(), args, [](const std::string&) { return false; });
  if (!parsed) return std::move(parsed).error();
  return std::get<Invocation>(*parsed).body(system);
}

FakeSystem laptop() {
  FakeSystem system;
  system.node = *synthetic_topology("cores:2");
  system.files["job.yaml"] = "name: j\nrun: [echo, hi]\n";
  system.files["lumi.json"] = to_json(lumi_like()).dump();
  return system;
}

TEST(PlanCommand, ShowsATableForPeople) {
  auto system = laptop();
  ASSERT_EQ(*call(system, {"plan", "job.yaml", "--set", "resources.ranks_per_node=2"}), 0);
  EXPECT_THAT(system.printed, HasSubstr("j: 2 ranks on this machine"));
  EXPECT_THAT(system.printed, HasSubstr("--np 2"));
  EXPECT_EQ(system.logged, "");
}

TEST(PlanCommand, PrintsOneJsonDocument) {
  auto system = laptop();
  ASSERT_EQ(*call(system, {"plan", "job.yaml", "--facts", "lumi.json", "--json"}), 0);
  const auto document = Json::parse(system.printed);
  EXPECT_EQ(document.at("ranks"), 8);
  EXPECT_EQ(document.at("srun").at(0), "srun");
  EXPECT_EQ(document.at("sbatch").at("--gpus-per-node"), "8");
  EXPECT_EQ(document.at("binding").at("ranks").at(0).at("cpus"), "49-55");
}

TEST(PlanCommand, ChecksWhatTheJobNeedsOfThisMachine) {
  auto system = laptop();
  system.folders = {"/"};
  system.files["job.yaml"] = "name: j\nrun: [pyton3, t.py]\nenvironment: {activate: venv}\n";
  EXPECT_EQ(*call(system, {"plan", "job.yaml", "--check"}), 2);
  EXPECT_THAT(system.printed, HasSubstr("run: no command 'pyton3' on PATH"));
  EXPECT_THAT(system.printed, HasSubstr("[environment]"));
  system.printed.clear();
  system.files["job.yaml"] = "name: j\nrun: [/bin/sh]\nenvironment: {modules: [cuda]}\n";
  system.respond = [](const auto&) { return CommandOutput{77, "", ""}; };
  EXPECT_EQ(*call(system, {"plan", "job.yaml", "--check"}), 3);
  EXPECT_THAT(system.printed, HasSubstr("this machine has no `module` command [modules]"));
}

TEST(PlanCommand, ShowsShortFormsInFull) {
  auto system = laptop();
  system.files["short.yaml"] =
      "name: j\nrun: torchrun --nproc_per_node=8 t.py\nresources: {gpus: 16, time: 2h, memory: "
      "64GB}\n"
      "environment: [A=1]\n";
  ASSERT_EQ(*call(system, {"plan", "short.yaml", "--facts", "lumi.json"}), 0);
  for (const char* full : {"--nodes=2", "--gpus-per-node=8", "--ntasks-per-node=8",
                           "--time=02:00:00", "--mem=64G", "'python3 -u t.py'"})
    EXPECT_THAT(system.printed, HasSubstr(full));
  EXPECT_THAT(system.logged, HasSubstr("short.yaml:2:6: note: run: 'torchrun --nproc_per_node=8'"));
}

TEST(PlanCommand, HandsErrorsOn) {
  auto system = laptop();
  const auto code = call(system, {"plan", "job.yaml", "--facts", "lumi.json", "--set",
                                  "resources.partition=standart-g"});
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().kind, ErrorKind::unsatisfiable);
  EXPECT_EQ(code.error().hint, "use standard-g");
}

TEST(PlanCommand, PlansForTheClusterOfTheOption) {
  auto system = laptop();
  ASSERT_EQ(
      *call(system, {"plan", "job.yaml", "--cluster", "frontier", "--set", "cluster=perlmutter"}),
      0);
  EXPECT_THAT(system.printed, HasSubstr("as cluster profile frontier has it"));
  const auto unknown = call(system, {"plan", "job.yaml", "--cluster", "frontiere"});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().what, HasSubstr("did you mean 'frontier'?"));
}

TEST(PlanCommand, TakesAnyPartitionOfAnySlurmCluster) {
  for (const std::string profile : {"generic-nvidia", "generic-amd", "cpu"}) {
    auto system = laptop();
    system.files["job.yaml"] =
        "run: [echo, hi]\nresources: {nodes: 2000, partition: gpu_p5, constraint: a100, account: "
        "x@a100, qos: dev}\n";
    ASSERT_EQ(*call(system, {"plan", "job.yaml", "--check", "--cluster", profile}), 0)
        << system.printed;
    EXPECT_THAT(
        system.printed,
        HasSubstr(profile +
                  " stands for any Slurm cluster; not checked: partition gpu_p5, "
                  "constraint a100, account x@a100, QOS dev, 2000 nodes; the ranks of a node "
                  "share all its CPUs\n"));
    EXPECT_THAT(system.printed, HasSubstr("--partition=gpu_p5"));
  }
}

/// Nodes of 64 CPUs could never start ranks that ask for a share of the example's 256.
TEST(PlanCommand, AsksAnyClusterForNoCpusOfItsExample) {
  auto system = laptop();
  system.files["job.yaml"] =
      "run: [echo, hi]\nresources: {nodes: 2, ranks_per_node: 4, partition: p}\n";
  const auto script = [&](const std::vector<std::string>& sets) {
    system.printed.clear();
    std::vector<std::string> words = {"script", "job.yaml", "--cluster", "cpu"};
    words.insert(words.end(), sets.begin(), sets.end());
    EXPECT_EQ(*call(system, words), 0) << system.logged;
    return system.printed;
  };
  EXPECT_THAT(script({}), Not(HasSubstr("--cpus-per-task")));
  EXPECT_THAT(system.logged, HasSubstr("2 nodes; the ranks of a node share all its CPUs\n"));
  for (const std::string exclusive : {"true", "false"}) {
    const auto asked =
        script({"--set", "resources.cpus_per_rank=4", "--set", "resources.exclusive=" + exclusive});
    EXPECT_THAT(asked, HasSubstr("#SBATCH --cpus-per-task=4\n#SBATCH --threads-per-core=1\n"));
    EXPECT_THAT(asked, HasSubstr(" --cpus-per-task=4 "));
    EXPECT_THAT(system.logged, HasSubstr("2 nodes, 4 cores per rank\n"));
  }
}

TEST(PlanCommand, ExampleNodesHaveTheCoresThatTheJobAsksFor) {
  auto system = laptop();
  system.files["job.yaml"] = "run: [echo, hi]\n";
  for (const auto& [ranks, cores] :
       std::vector<std::pair<int, int>>{{8, 16}, {8, 24}, {4, 30}, {4, 32}, {2, 64}, {200, 1}}) {
    const auto set = [](const std::string& key, int value) {
      return "resources." + key + "=" + std::to_string(value);
    };
    const auto code =
        call(system, {"plan", "job.yaml", "--cluster", "generic-nvidia", "--set",
                      set("ranks_per_node", ranks), "--set", set("cpus_per_rank", cores)});
    EXPECT_TRUE(code) << ranks << " x " << cores << ": " << code.error().what;
    EXPECT_THAT(system.printed, Not(HasSubstr("dllaunch probe")));
  }
}

TEST(PlanCommand, NamesTheClustersWithGpusWhereTheExampleHasNone) {
  auto system = laptop();
  const auto code =
      call(system, {"plan", "job.yaml", "--cluster", "cpu", "--set", "resources.gpus_per_node=4"});
  ASSERT_FALSE(code);
  EXPECT_THAT(code.error().hint, HasSubstr("--cluster generic-nvidia"));
}

TEST(PlanCommand, PlansTheClusterModuleOfJuwelsBesideTheBooster) {
  auto system = laptop();
  system.files["job.yaml"] =
      "components:\n"
      "- {name: loader, run: [echo, a], resources: {partition: batch, ranks_per_node: 2}}\n"
      "- {name: trainer, run: [echo, b], resources: {partition: booster}}\n";
  ASSERT_EQ(*call(system, {"plan", "job.yaml", "--cluster", "juwels-booster"}), 0);
  EXPECT_THAT(system.printed, HasSubstr("--partition=batch"));
  EXPECT_THAT(system.printed, HasSubstr("--partition=booster"));
}

TEST(StudyCommand, OneMachineTakesTheRanksThatAreAskedFor) {
  auto system = laptop();
  system.folders = {"/"};
  system.programs = {"echo"};
  system.files["job.yaml"] = "run: [echo, 5 items]\nstudy: {value: '([0-9]+) items'}\n";
  const auto code = call(system, {"study", "job.yaml", "--ranks", "1,2", "--local", "--dry-run"});
  ASSERT_TRUE(code) << code.error().what << system.logged;
  EXPECT_THAT(system.printed, HasSubstr("resources.ranks_per_node=2 resources.cpus_per_rank=1\n"));
  EXPECT_THAT(system.printed, HasSubstr("resources.ranks_per_node=1 resources.cpus_per_rank=1\n"));
}

TEST(ValidateCommand, KnowsTheClustersThatItIsAskedAbout) {
  auto system = laptop();
  EXPECT_EQ(*call(system, {"validate", "job.yaml", "--cluster", "lumi-g"}), 0);
  EXPECT_FALSE(call(system, {"validate", "job.yaml", "--cluster", "lumi"}));
  system.printed.clear();
  EXPECT_EQ(*call(system, {"validate", "job.yaml", "--cluster", "lumi", "--json"}), 2);
  EXPECT_THAT(system.printed, HasSubstr("\"ok\": false"));
  EXPECT_THAT(system.printed, HasSubstr("'lumi'"));
}

}  // namespace
}  // namespace dllaunch
