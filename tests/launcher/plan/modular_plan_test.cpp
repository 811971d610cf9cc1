#include "launcher/plan/modular_plan.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "launcher/os/posix_system.hpp"
#include "support/json.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Job two_components() {
  Job job;
  job.name = "both";
  auto loader = run_job();
  loader.name = "both-loader";
  loader.environment.setup = "echo END_OF_COMPONENT\nEND_OF_COMPONENT\n";
  auto trainer = train_job();
  trainer.name = "both-trainer";
  trainer.resources.nodes = 2;
  trainer.recovery.grace_seconds = 300;
  job.components.push_back({"loader", false, loader});
  job.components.push_back({"trainer", true, trainer});
  return job;
}

Result<ModularPlan> joined(const Job& job, bool local = false) {
  std::vector<LaunchPlan> plans;
  for (const auto& part : job.components) {
    auto paths = sample_paths();
    paths.run_dir = component_dir(sample_paths().run_dir, part.name);
    auto made = plan(part.job, local ? one_machine("cores:2") : small_cluster(), paths, local);
    if (!made) return std::move(made).error();
    plans.push_back(*std::move(made));
  }
  return join_plans(job, sample_paths(), std::move(plans));
}

// Whose DLLAUNCH_COMPONENT_NAME_HOSTS the job's owner must order.
TEST(ModularPlan, KnowsWhoseNodesFollowTheNetwork) {
  const auto along = [](const Job& job) {
    const auto made = joined(job);
    EXPECT_TRUE(made);
    const auto stored = outline_from_json(to_json(made->whole));
    return std::pair(stored.components[0].along_network, stored.components[1].along_network);
  };
  auto job = two_components();
  EXPECT_EQ(along(job), std::pair(false, true)) << "one node has no order";
  job.components[1].job.resources.srun_extra = {"--distribution=cyclic"};
  EXPECT_EQ(along(job), std::pair(false, false));
  job = two_components();
  job.components[1].job.binding.network_order = NodeNumbering::slurm;
  EXPECT_EQ(along(job), std::pair(false, false));
}

TEST(ModularPlan, IsOneHeterogeneousJob) {
  const auto made = joined(two_components());
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->whole.nodes, 3);
  EXPECT_EQ(made->whole.grace_seconds, 300) << "enough for all";
  EXPECT_EQ(made->components[1].plan.start.argv()[1], "--het-group=1");
  const auto first = sbatch_arguments(*made, 0);
  const auto second = sbatch_arguments(*made, 1);
  EXPECT_THAT(first, Contains("--output=" + sample_paths().run_dir + "/slurm-%j.out"));
  const auto stored = to_json(made->components[0].plan)["sbatch"]["--output"];
  EXPECT_EQ(stored, sample_paths().run_dir + "/slurm-%j.out") << "the script's own";
  EXPECT_EQ(made->whole.components[0].signal, "") << "its ranks are not asked to save";
  EXPECT_THAT(first, Contains("--signal=B:USR2@300"));
  EXPECT_THAT(second, Contains(HasSubstr("/components/trainer/slurm-%j.out")));
  EXPECT_THAT(second, Not(Contains(HasSubstr("--signal")))) << "it has no script";
  EXPECT_THAT(first, Contains("--requeue"));
  EXPECT_THAT(second, Contains("--requeue"));
}

TEST(ModularPlan, IsReadBackFromItsFile) {
  const auto made = joined(two_components());
  ASSERT_TRUE(made);
  const auto outline = outline_from_json(to_json(made->whole));
  ASSERT_EQ(outline.components.size(), 2u);
  EXPECT_EQ(outline.ranks(), made->components[0].plan.ranks() + made->components[1].plan.ranks());
  EXPECT_TRUE(outline.components[1].ends_job);
  EXPECT_EQ(outline.components[1].signal, "USR2");
  EXPECT_EQ(outline.grace_seconds, 300);
}

// A name becomes a path, and a run's files may be another user's.
TEST(ModularPlan, NamesInAFileAreNoPaths) {
  const auto outline = outline_from_json(
      {{"name", "x"},
       {"components", Json::array({Json{{"name", "../../.ssh"}}, Json{{"name", ".."}}, 7})}});
  for (const auto& component : outline.components) EXPECT_EQ(component.name, "?");
}

/// The lines of a script as bash reads them.
CommandOutput bash(const std::string& script, const std::string& more) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/script") << script;
  auto output = PosixSystem(Console{}).run({"bash", more, folder.path() + "/script"},
                                           std::chrono::seconds(60));
  return output ? *output : CommandOutput{-1, "", output.error().what};
}

TEST(ModularPlan, TheScriptHoldsThoseOfTheComponents) {
  auto job = two_components();
  const auto made = joined(job);
  ASSERT_TRUE(made);
  const auto script = render_sbatch(*made, "abc");
  EXPECT_EQ(bash(script, "-n").exit_code, 0) << bash(script, "-n").err;
  EXPECT_THAT(script, HasSubstr("\n#SBATCH hetjob\n#SBATCH --job-name=both-trainer\n"));
  // The user's own line of that word ends no here-document.
  EXPECT_THAT(script, HasSubstr("<< 'END_OF_COMPONENT_'"));
  for (std::size_t i = 0; i < 2; ++i) {
    const auto own = render_component(*made, i);
    EXPECT_THAT(script, HasSubstr(own));
    EXPECT_EQ(bash(own, "-n").exit_code, 0);
    EXPECT_THAT(own, Not(HasSubstr("#SBATCH")));
    EXPECT_THAT(own, HasSubstr("export DLLAUNCH_HET_GROUP=" + std::to_string(i)));
    EXPECT_THAT(own, HasSubstr("\ntrap 'exit 130' INT\n"));
    EXPECT_EQ(own.find("unset CUDA_VISIBLE_DEVICES") != std::string::npos, i > 0)
        << "the script has the first component's";
  }
}

TEST(ModularPlan, TheScriptIsAsInTheGoldenFile) {
  const auto made = joined(two_components());
  ASSERT_TRUE(made);
  std::string text;
  std::istringstream lines(render_sbatch(*made, "abc"));
  for (std::string line; std::getline(lines, line);)
    text += (line.starts_with("{\"name\"") ? "(JSON, in one line)" : line) + "\n";
  EXPECT_TRUE(matches_golden("launcher/components.sbatch", text));
  PosixSystem system{Console{}};
  if (!system.find_program("shellcheck")) GTEST_SKIP() << "unavailable: shellcheck";
  for (const auto& script :
       {render_sbatch(*made), render_component(*made, 0), render_component(*made, 1)}) {
    const TemporaryFolder folder;
    std::ofstream(folder.path() + "/script") << script;
    const auto output = system.run({"shellcheck", "--severity=info", folder.path() + "/script"},
                                   std::chrono::seconds(60));
    ASSERT_TRUE(output);
    EXPECT_EQ(output->out, "");
  }
}

TEST(ModularPlan, MoreRanksThanPortsAreToldOf) {
  const auto job = two_components();
  auto before = joined(job);
  ASSERT_TRUE(before);
  std::vector<LaunchPlan> plans;
  for (auto& component : before->components) plans.push_back(std::move(component.plan));
  plans[0].ranks_per_node = 65;
  const auto made = join_plans(job, sample_paths(), std::move(plans));
  ASSERT_TRUE(made);
  EXPECT_THAT(made->whole.warnings, Contains(HasSubstr("65 ranks a node, and 64 ports")));
}

TEST(ModularPlan, ARangeOfNodesIsRefused) {
  auto job = two_components();
  job.components[1].job.resources.nodes = 2;
  job.components[1].job.recovery.min_nodes = 1;
  const auto made = joined(job);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().what, HasSubstr("recovery.min_nodes does not combine with components"));
  EXPECT_THAT(made.error().what, HasSubstr("trainer"));
  EXPECT_THAT(made.error().hint, HasSubstr("give resources.nodes one number"));
}

TEST(ModularPlan, WhatHeterogeneousJobsCannotDoIsRefused) {
  auto job = two_components();
  job.components[0].job.stage = {"/data"};
  ASSERT_FALSE(joined(job));
  EXPECT_THAT(joined(job).error().what, HasSubstr("component loader: stage"));
  job = two_components();
  job.components[1].job.recovery.spare_nodes = 1;
  job.components[1].job.resources.nodes = 1;
  ASSERT_FALSE(joined(job));
  EXPECT_THAT(joined(job).error().what, HasSubstr("component trainer: recovery.spare_nodes"));
}

TEST(ModularPlan, OnOneMachineTheyRunSideBySide) {
  auto job = two_components();
  job.components[1].job.resources.nodes = 1;
  const auto made = joined(job, /*local=*/true);
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_THAT(render_plan(*made), HasSubstr("both: 2 components, side by side on this machine"));
  EXPECT_THAT(render_plan(*made), HasSubstr("component trainer, which ends the job"));
  EXPECT_EQ(made->whole.launcher, Launcher::local);
  const auto document = to_json(*made);
  EXPECT_EQ(document["components"][1]["name"], "trainer");
  EXPECT_EQ(document["components"][1]["ranks"], made->components[1].plan.ranks());
}

}  // namespace
}  // namespace dllaunch
