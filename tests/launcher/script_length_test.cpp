// A script that a user can still read: over everything a job file can ask for, at once.
#include <gtest/gtest.h>

#include <algorithm>

#include "launcher/plan/plan.hpp"
#include "tests/launcher/sample_plans.hpp"

namespace dllaunch {
namespace {

/// Those to read: the plan in a here-document is for programs.
std::ptrdiff_t script_lines(const Job& job, const Facts& facts) {
  auto script = render_sbatch(planned(job, facts));
  const auto begin = script.find("<< 'END_OF_PLAN'");
  script.erase(begin, script.find("\nEND_OF_PLAN", begin) - begin);
  return std::count(script.begin(), script.end(), '\n');
}

/// Sets more options than any user writes, one line each.
void ask_for_much(Job& job, unsigned features) {
  const auto wants = [features](unsigned bit) { return (features >> bit & 1U) != 0; };
  auto& environment = job.environment;
  if (wants(0)) job.stage = {"/scratch/data.tar", "/scratch/vocabulary"};
  for (int i = 0; wants(1) && i < 12; ++i)
    environment.modules.push_back("module/" + std::to_string(i));
  if (wants(2)) environment.activate = "/home/me/venv";
  if (wants(3)) {
    job.array = "0-9%2";
    job.after = {"17", "18"};
  }
  for (int i = 0; wants(4) && i < 15; ++i)
    environment.setup.emplace(environment.setup.value_or("") + "true\n");
  for (int i = 0; wants(5) && i < 15; ++i)
    environment.variables.emplace_back("NAME_" + std::to_string(i), "value");
  auto& resources = job.resources;
  if (!wants(6)) return;
  resources.account = resources.partition = resources.qos = resources.reservation = "batch";
  resources.constraint.reset();
  resources.time = "1:00:00";
  resources.sbatch_extra = {"--mail-type=END", "--mail-user=me@site", "--comment=x"};
  resources.srun_extra = {"--verbose"};
}

TEST(ScriptLength, NeverMoreThan200Lines) {
  std::ptrdiff_t longest = 0;
  for (unsigned features = 0; features < 1U << 7; ++features) {
    for (const bool trains : {false, true}) {
      for (const std::string start : {"pmix", "none", "enroot", "apptainer"}) {
        if (trains && (start == "enroot" || start == "apptainer")) continue;
        auto job = trains ? train_job() : run_job();
        job.resources.nodes = 2;
        job.framework = start == "none" && !trains ? "mpi" : job.framework;
        ask_for_much(job, features);
        auto facts = small_cluster();
        if (start == "none") facts.slurm->mpi_types = {"none"};
        facts.slurm->pyxis = start == "enroot";
        if (start == "enroot" || start == "apptainer")
          job.environment.container =
              Container{.image = "docker://image", .runtime = start, .mounts = {"/a", "/b:/c:ro"}};
        const auto lines = script_lines(job, facts);
        EXPECT_LE(lines, 200) << features << " " << start;
        longest = std::max(longest, lines);
      }
    }
  }
  EXPECT_GT(longest, 120) << "or this has forgotten to ask for much";
}

TEST(ScriptLength, APlainOneFitsOnOneScreen) {
  EXPECT_LT(script_lines(run_job(), small_cluster()), 80);
  auto gpus = run_job();
  gpus.resources.nodes = 2;
  EXPECT_LT(script_lines(gpus, lumi_like()), 80);
}

}  // namespace
}  // namespace dllaunch
