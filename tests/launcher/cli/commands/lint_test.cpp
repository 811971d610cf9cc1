// `dllaunch lint`: what goes where, and the exit codes.
#include <gtest/gtest.h>

#include "launcher/cli/command_line.hpp"
#include "support/json.hpp"
#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

const std::string clean = "#!/bin/bash\n#SBATCH --time=10\npython a.py\n";
const std::string broken =
    "#!/bin/bash\n#SBATCH --time=10 --exclusive --ntasks-per-node=2 --output=logs/a\n"
    "srun --cpu-bind=mask_cpu:0x1,0x0 a\n";
const std::string doubtful = "#!/bin/bash\npython a.py\n";

Result<int> call(System& system, const std::vector<std::string>& args) {
  auto parsed =
      parse_command_line(command_groups(), args, [](const std::string&) { return false; });
  if (!parsed) return std::move(parsed).error();
  return std::get<Invocation>(*parsed).body(system);
}

TEST(LintCommand, EndsWithFourForErrorsOnly) {
  FakeSystem system;
  system.files = {{"clean", clean}, {"broken", broken}, {"doubtful", doubtful}};
  system.folders = {"logs"};
  EXPECT_EQ(*call(system, {"lint", "clean"}), 0);
  EXPECT_EQ(system.printed, "");
  EXPECT_EQ(*call(system, {"lint", "doubtful"}), 0);
  EXPECT_EQ(system.printed.find("doubtful:1:1: warning: "), 0u) << system.printed;
  system.printed.clear();
  EXPECT_EQ(*call(system, {"lint", "broken"}), 4);
  EXPECT_EQ(system.printed.find("broken:3:30: error: "), 0u) << system.printed;
  EXPECT_NE(system.printed.find("[mask-empty]\n"), std::string::npos) << system.printed;
  EXPECT_EQ(system.logged, "");
}

TEST(LintCommand, LooksForFoldersHereAndBesideTheScript) {
  FakeSystem system;
  system.files = {{"dir/broken", broken}};
  system.folders = {"dir/logs"};
  EXPECT_EQ(*call(system, {"lint", "dir/broken"}), 4);
  EXPECT_EQ(system.printed.find("[output-folder]"), std::string::npos);
  system.folders.clear();
  EXPECT_EQ(*call(system, {"lint", "dir/broken"}), 4);
  EXPECT_NE(system.printed.find("[output-folder]"), std::string::npos);
}

TEST(LintCommand, AMissingFileIsAMistakeInTheCommand) {
  FakeSystem system;
  const auto code = call(system, {"lint", "none.sbatch"});
  ASSERT_FALSE(code);
  EXPECT_EQ(exit_code_of(code.error().kind), 2);
  EXPECT_FALSE(call(system, {"lint", "none.sbatch", "--topology", "/no/such.xml"}));
}

TEST(LintCommand, PrintsOnlyTheDiffForPatch) {
  FakeSystem system;
  system.files = {{"a", "#!/bin/bash\n#SBATCH --time=1 --nodez=2\n:\n"}};
  EXPECT_EQ(*call(system, {"lint", "a", "--fix"}), 4);
  EXPECT_EQ(system.printed,
            "--- a\n+++ a\n@@ -1,3 +1,3 @@\n #!/bin/bash\n-#SBATCH --time=1 --nodez=2\n"
            "+#SBATCH --time=1 --nodes=2\n :\n");
  EXPECT_NE(system.logged.find("[directive-unknown]"), std::string::npos);
}

TEST(LintCommand, AnswersInOneDocument) {
  FakeSystem system;
  system.files = {{"broken", broken}};
  system.folders = {"logs"};
  EXPECT_EQ(*call(system, {"lint", "broken", "--json", "--topology", "synthetic:numa:1 cores:4"}),
            4);
  const auto document = Json::parse(system.printed);
  EXPECT_EQ(document["errors"], 1);
  EXPECT_EQ(document["findings"][0]["id"], "mask-empty");
}

TEST(LintCommand, ChecksMasksAgainstTheNodesOfTheClustersPartition) {
  FakeSystem system;
  // No node of the profile has these CPUs.
  const auto script = [](const std::string& partition) {
    return "#!/bin/bash\n#SBATCH -t 10 -N 1\n#SBATCH -p " + partition +
           "\nsrun --ntasks=1 --cpu-bind=mask_cpu:0xff0000000000000000000000000000000000 a\n";
  };
  system.files = {{"standard", script("batch")}, {"any", script("x")}};
  EXPECT_TRUE(call(system, {"lint", "any", "--cluster", "juwels-booster"}));
  EXPECT_EQ(system.printed.find("[mask-outside-node]"), std::string::npos) << system.printed;
  EXPECT_NE(system.logged.find("has no partition 'x'"), std::string::npos) << system.logged;
  system.printed.clear();
  EXPECT_EQ(*call(system, {"lint", "standard", "--cluster", "juwels-booster"}), 4);
  EXPECT_NE(system.printed.find("[mask-outside-node]"), std::string::npos) << system.printed;
  system.printed.clear();
  EXPECT_TRUE(call(system, {"lint", "any", "--cluster", "generic-nvidia"}));
  EXPECT_EQ(system.printed.find("[mask-outside-node]"), std::string::npos)
      << "its node is an example: " << system.printed;
  EXPECT_FALSE(call(system, {"lint", "any", "--cluster", "none"}));
  EXPECT_FALSE(call(system, {"lint", "any", "--cluster", "lumi-g", "--topology", "lumi-g"}));
}

}  // namespace
}  // namespace dllaunch
