#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "launcher/cli/command_line.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/support/fake_world.hpp"
#include "topology/node/synthetic.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

/// Runs a command line as main() does, without the process.
Result<int> call(World& world, const std::vector<std::string>& args) {
  auto parsed = parse_command_line(args, [](const std::string&) { return false; });
  if (!parsed) return std::move(parsed).error();
  return std::get<Command>(*parsed).body(world);
}

FakeWorld laptop() {
  FakeWorld world;
  world.node = *synthetic_topology("cores:2");
  world.files["job.yaml"] = "name: j\nrun: [echo, hi]\n";
  world.files["mixed.json"] = to_json(mixed_cluster()).dump();
  return world;
}

TEST(ScriptVerb, PrintsTheScriptAndNothingElse) {
  auto world = laptop();
  // On CPUs any node will do, so that the plan is for one kind of several and says so.
  ASSERT_EQ(*call(world,
                  {"script", "job.yaml", "--facts", "mixed.json", "--set", "resources.device=cpu"}),
            0);
  EXPECT_TRUE(world.printed.starts_with("#!/bin/bash\n#SBATCH --job-name=j\n"));
  EXPECT_THAT(world.printed, HasSubstr("\n#SBATCH --output=slurm-%j.out\n"))
      << "the run's directory is not there yet when Slurm opens the output";
  EXPECT_THAT(world.printed, testing::EndsWith("  echo hi\n"));
  EXPECT_THAT(world.noted, HasSubstr("the nodes of partition batch differ"));
}

TEST(ScriptVerb, NeedsASlurmOrItsFacts) {
  auto world = laptop();
  const auto code = call(world, {"script", "job.yaml"});
  ASSERT_FALSE(code);
  EXPECT_EQ(exit_code_of(code.error().kind), 3);
  EXPECT_THAT(code.error().what, HasSubstr("no Slurm here"));
  EXPECT_THAT(code.error().hint, HasSubstr("--facts"));
}

}  // namespace
}  // namespace dllaunch
