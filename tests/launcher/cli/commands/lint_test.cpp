// `dllaunch lint`: what goes where, and the exit codes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "launcher/cli/command_line.hpp"
#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

const std::string clean = "#!/bin/bash\n#SBATCH --time=10\npython a.py\n";
const std::string broken =
    "#!/bin/bash\n#SBATCH --time=10 --exclusive --ntasks-per-node=2 --output=logs/a\n"
    "srun --cpu-bind=mask_cpu:0x1,0x0 a\n";
const std::string doubtful = "#!/bin/bash\npython a.py\n";

Result<int> call(World& world, const std::vector<std::string>& args) {
  auto parsed = parse_command_line(args, [](const std::string&) { return false; });
  if (!parsed) return std::move(parsed).error();
  return std::get<Command>(*parsed).body(world);
}

TEST(LintVerb, EndsWithFourForErrorsOnly) {
  FakeWorld world;
  world.files = {{"clean", clean}, {"broken", broken}, {"doubtful", doubtful}};
  world.folders = {"logs"};
  EXPECT_EQ(*call(world, {"lint", "clean"}), 0);
  EXPECT_EQ(world.printed, "");
  EXPECT_EQ(*call(world, {"lint", "doubtful"}), 0);
  EXPECT_EQ(world.printed.find("doubtful:1:1: warning: "), 0u) << world.printed;
  world.printed.clear();
  EXPECT_EQ(*call(world, {"lint", "broken"}), 4);
  EXPECT_EQ(world.printed.find("broken:3:30: error: "), 0u) << world.printed;
  EXPECT_NE(world.printed.find("[mask-empty]\n"), std::string::npos) << world.printed;
  EXPECT_EQ(world.noted, "");
}

TEST(LintVerb, LooksForFoldersHereAndBesideTheScript) {
  FakeWorld world;
  world.files = {{"dir/broken", broken}};
  world.folders = {"dir/logs"};
  EXPECT_EQ(*call(world, {"lint", "dir/broken"}), 4);
  EXPECT_EQ(world.printed.find("[output-folder]"), std::string::npos);
  world.folders.clear();
  EXPECT_EQ(*call(world, {"lint", "dir/broken"}), 4);
  EXPECT_NE(world.printed.find("[output-folder]"), std::string::npos);
}

TEST(LintVerb, AMissingFileIsAMistakeInTheCommand) {
  FakeWorld world;
  const auto code = call(world, {"lint", "none.sbatch"});
  ASSERT_FALSE(code);
  EXPECT_EQ(exit_code_of(code.error().kind), 2);
  EXPECT_FALSE(call(world, {"lint", "none.sbatch", "--topology", "/no/such.xml"}));
}

TEST(LintVerb, PrintsOnlyTheDiffForPatch) {
  FakeWorld world;
  world.files = {{"a", "#!/bin/bash\n#SBATCH --time=1 --nodez=2\n:\n"}};
  EXPECT_EQ(*call(world, {"lint", "a", "--fix"}), 4);
  EXPECT_EQ(world.printed,
            "--- a\n+++ a\n@@ -1,3 +1,3 @@\n #!/bin/bash\n-#SBATCH --time=1 --nodez=2\n"
            "+#SBATCH --time=1 --nodes=2\n :\n");
  EXPECT_NE(world.noted.find("[directive-unknown]"), std::string::npos);
}

TEST(LintVerb, AnswersInOneDocument) {
  FakeWorld world;
  world.files = {{"broken", broken}};
  world.folders = {"logs"};
  EXPECT_EQ(*call(world, {"lint", "broken", "--json", "--topology", "synthetic:numa:1 cores:4"}),
            4);
  const auto document = nlohmann::ordered_json::parse(world.printed);
  EXPECT_EQ(document["errors"], 1);
  EXPECT_EQ(document["findings"][0]["id"], "mask-empty");
}

}  // namespace
}  // namespace dllaunch
