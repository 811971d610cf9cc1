#include <gmock/gmock.h>

#include "launcher/cli/command_line.hpp"
#include "support/json.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/support/fake_system.hpp"
#include "topology/node/synthetic.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

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
  system.files["mixed.json"] = to_json(mixed_cluster()).dump();
  return system;
}

TEST(ScriptCommand, PrintsTheScriptAndNothingElse) {
  auto system = laptop();
  // On CPUs any node will do, so that the plan is for one kind of several and says so.
  ASSERT_EQ(*call(system,
                  {"script", "job.yaml", "--facts", "mixed.json", "--set", "resources.device=cpu"}),
            0);
  EXPECT_TRUE(system.printed.starts_with("#!/bin/bash\n#SBATCH --job-name=j\n"));
  EXPECT_THAT(system.printed, HasSubstr("\n#SBATCH --output=slurm-%j.out\n"))
      << "the run's directory is not there yet when Slurm opens the output";
  EXPECT_THAT(system.printed, testing::EndsWith("  echo hi\n"));
  EXPECT_THAT(system.logged, HasSubstr("the nodes of partition batch differ"));
}

TEST(ScriptCommand, NeedsASlurmOrItsFacts) {
  auto system = laptop();
  const auto code = call(system, {"script", "job.yaml"});
  ASSERT_FALSE(code);
  EXPECT_EQ(exit_code_of(code.error().kind), 3);
  EXPECT_THAT(code.error().what, HasSubstr("this machine has no Slurm"));
  EXPECT_THAT(code.error().hint, HasSubstr("--facts"));
}

}  // namespace
}  // namespace dllaunch
