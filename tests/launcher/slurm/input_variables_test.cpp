#include "launcher/slurm/input_variables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "launcher/base/shell_quote.hpp"
#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(InputVariables, SbatchGetsNoneThatChangesTheScriptsOptions) {
  FakeSystem system;
  system.variables = {
      {"SBATCH_PARTITION", "other"}, {"SBATCH_QOS", "long"},    {"SBATCH_GRES", "gpu:1"},
      {"SBATCH_ACCOUNT", "bio"},     {"SBATCH_EXCLUSIVE", ""},  {"SBATCH_WAIT", "1"},
      {"SBATCH_NO_REQUEUE", "1"},    {"SBATCH_ERROR", "e.txt"}, {"SBATCH_DEBUG", "1"},
      {"SLURM_RESTART_COUNT", "1"},  {"SBATCH_WCKEY", "mine"},  {"PATH", "/bin"}};
  const std::vector<std::string> options = {"--partition=gpu", "--gpus-per-node=4", "-A bio",
                                            "--requeue"};
  const auto found = sbatch_variables(system);
  EXPECT_THAT(
      sbatch_command(options, found),
      ElementsAre("env", "-u", "SBATCH_ACCOUNT", "-u", "SBATCH_DEBUG", "-u", "SBATCH_ERROR", "-u",
                  "SBATCH_EXCLUSIVE", "-u", "SBATCH_GRES", "-u", "SBATCH_NO_REQUEUE", "-u",
                  "SBATCH_PARTITION", "-u", "SBATCH_WAIT", "-u", "SLURM_RESTART_COUNT", "sbatch"));
  EXPECT_THAT(adopted_options(options, found), ElementsAre("--qos=long", "--wckey=mine"));
  EXPECT_THAT(
      notes_on(options, found),
      ElementsAre(
          "SBATCH_ERROR=e.txt is set here, and sbatch would add --error=e.txt, which the job file "
          "does not ask for: dllaunch submits without it",
          HasSubstr("would add --exclusive, "),
          "SBATCH_GRES=gpu:1 is set here, and sbatch would use it instead of --gpus-per-node=4: "
          "dllaunch submits without it",
          "SBATCH_NO_REQUEUE=1 is set here, and sbatch would use it instead of --requeue: dllaunch "
          "submits without it",
          HasSubstr("SBATCH_PARTITION=other"), HasSubstr("would wait for the job's end")))
      << "no note where the option is the same";
  EXPECT_THAT(sbatch_command(options, {}), ElementsAre("sbatch"));
}

TEST(InputVariables, MemoryIsAdoptedUnlessTheJobHasAnOption) {
  const SbatchVariables variables = {{"SBATCH_MEM_PER_NODE", "2G"}};
  EXPECT_THAT(adopted_options({"--nodes=1"}, variables), ElementsAre("--mem=2G"));
  EXPECT_THAT(notes_on({"--nodes=1"}, variables), IsEmpty());
  EXPECT_THAT(adopted_options({"--mem-per-cpu=1G"}, variables), IsEmpty());
  EXPECT_THAT(notes_on({"--mem-per-cpu=1G"}, variables),
              ElementsAre(HasSubstr("instead of --mem-")));
}

TEST(InputVariables, SwitchesThatAreOffChangeNothing) {
  for (const char* off : {"0", "no", "false"})
    EXPECT_THAT(notes_on({"--requeue"}, {{"SBATCH_NO_REQUEUE", off}}), IsEmpty()) << off;
  for (const char* on : {"", "yes", "1", "2"})
    EXPECT_THAT(notes_on({"--requeue"}, {{"SBATCH_NO_REQUEUE", on}}), Not(IsEmpty())) << on;
  EXPECT_THAT(notes_on({"--requeue"}, {{"SBATCH_REQUEUE", "1"}}), IsEmpty());
}

TEST(InputVariables, ReadsTheHeadOfAScript) {
  EXPECT_THAT(options_of_script("#!/bin/bash\n# words\n#SBATCH --nodes=2\n#SBATCH -p gpu\n\n"
                                "#SBATCH --time=1\n"),
              ElementsAre("--nodes=2", "-p gpu"));
  EXPECT_THAT(options_of_script("#SBATCH --nodes=2"), ElementsAre("--nodes=2"));
  EXPECT_THAT(options_of_script(""), IsEmpty());
}

TEST(InputVariables, ReadsQuotesInTheHeadAsSbatchDoes) {
  for (const std::string value :
       {"two words", "it's", "a \"b\" c", "a#b", "#", "back\\slash", "p=1"})
    EXPECT_THAT(options_of_script("#SBATCH --comment=" + sbatch_quote(value) + "\n"),
                ElementsAre("--comment=" + value));
  EXPECT_THAT(options_of_script("#SBATCH \"--mail-user=a b\"  -p  'x y' # words\n"),
              ElementsAre("--mail-user=a b -p x y"));
}

TEST(InputVariables, SrunReadsOnlyWhatTheScriptAsksFor) {
  const auto all = contradicting_variables({});
  for (const auto* name :
       {"SLURM_CPU_BIND", "SLURM_GPUS_PER_TASK", "SLURM_MEM_PER_CPU", "SLURM_DISTRIBUTION",
        "SLURM_HINT", "SLURM_CPUS_PER_TASK", "SLURM_CONSTRAINT", "SLURM_TIMELIMIT",
        "SLURM_WORKING_DIR", "SLURM_REMOTE_CWD", "SLURM_GRES", "SLURM_EXCLUSIVE", "SLURM_NO_KILL",
        "SLURM_TASK_PROLOG", "SLURM_PROLOG", "SLURM_STDOUTMODE"})
    EXPECT_THAT(all, Contains(name));
  const auto some =
      contradicting_variables({"--mem-per-cpu=2G", "--hint nomultithread", "-m block",
                               "--cpus-per-task=4", "--gpus-per-task", "--constraint=a"});
  for (const auto* name :
       {"SLURM_MEM_PER_CPU", "SLURM_HINT", "SLURM_GPUS_PER_TASK", "SLURM_DISTRIBUTION"})
    EXPECT_THAT(some, Not(Contains(name)));
  EXPECT_THAT(some, Contains("SLURM_GPUS")) << "--gpus-per-task is another option";
  EXPECT_THAT(some, Contains("SLURM_CPUS_PER_TASK")) << "srun's line says it";
  EXPECT_THAT(some, Contains("SLURM_CONSTRAINT")) << "sbatch does not set it";
}

TEST(InputVariables, EachIsInTheManual) {
  std::ifstream file(std::string(DLLAUNCH_SOURCE_DIR) + "/docs/reference/slurm-script.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const auto reader : {SlurmProgram::sbatch, SlurmProgram::srun})
    for (const auto name : variables_of(reader))
      EXPECT_NE(page.find("`" + std::string(name) + "`"), std::string::npos) << name;
}

TEST(InputVariables, WhatSlurmSetsInEveryJobIsKept) {
  const auto all = contradicting_variables({});
  for (const auto* name : {"SLURM_NTASKS", "SLURM_MEM_PER_NODE", "SLURM_JOB_ID"})
    EXPECT_THAT(all, Not(Contains(name)));
  EXPECT_THAT(variables_of(SlurmProgram::srun), Contains("SLURM_NTASKS"));
}

}  // namespace
}  // namespace dllaunch
