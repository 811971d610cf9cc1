#include "launcher/slurm/sbatch_variables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(SbatchVariables, ThatWouldCountBeforeTheScript) {
  FakeSystem system;
  system.variables = {{"SBATCH_PARTITION", "other"}, {"SBATCH_QOS", "long"},
                      {"SBATCH_GRES", "gpu:1"},      {"SBATCH_ACCOUNT", "bio"},
                      {"SBATCH_EXCLUSIVE", ""},      {"SBATCH_WAIT", "1"},
                      {"SBATCH_REQUEUE", "1"},       {"PATH", "/bin"}};
  const auto found =
      overriding({"--partition=gpu", "--gpus-per-node=4", "-A bio"}, sbatch_variables(system));
  EXPECT_THAT(sbatch_without(found),
              ElementsAre("env", "-u", "SBATCH_PARTITION", "-u", "SBATCH_ACCOUNT", "-u",
                          "SBATCH_EXCLUSIVE", "-u", "SBATCH_WAIT", "-u", "SBATCH_GRES", "sbatch"));
  const auto notes = notes_on(found);
  ASSERT_EQ(notes.size(), 5U);
  EXPECT_EQ(notes[0],
            "SBATCH_PARTITION=other is set here, and sbatch would use it instead of "
            "--partition=gpu: dllaunch submits without it");
  EXPECT_THAT(notes[2], HasSubstr("resources.exclusive"));
  EXPECT_THAT(notes[3], HasSubstr("wait"));
  EXPECT_THAT(notes_on(overriding({"--qos=long"}, {{"SBATCH_QOS", "long"}})), IsEmpty())
      << "no difference";
  EXPECT_THAT(sbatch_without({}), ElementsAre("sbatch"));
}

TEST(SbatchVariables, ReadsTheHeadOfAScript) {
  EXPECT_THAT(options_of_script("#!/bin/bash\n# words\n#SBATCH --nodes=2\n#SBATCH -p gpu\n\n"
                                "#SBATCH --time=1\n"),
              ElementsAre("--nodes=2", "-p gpu"));
  EXPECT_THAT(options_of_script("#SBATCH --nodes=2"), ElementsAre("--nodes=2"));
  EXPECT_THAT(options_of_script(""), IsEmpty());
}

}  // namespace
}  // namespace dllaunch
