#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "launcher/cli/command_line.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"
#include "topology/node/synthetic.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

Result<int> call(System& system, const std::vector<std::string>& args) {
  auto parsed =
      parse_command_line(command_groups(), args, [](const std::string&) { return false; });
  if (!parsed) return std::move(parsed).error();
  return std::get<Invocation>(*parsed).body(system);
}

FakeSystem laptop() {
  FakeSystem system;
  system.node = *synthetic_topology("cores:2");
  system.files["train.py"] = "import torch\n";
  system.files["job.sbatch"] = "#!/bin/bash\n#SBATCH --nodes=1 --output=x\nsrun python t.py\n";
  system.files["loop.sbatch"] = "#!/bin/bash\n#SBATCH -N1\nwhile true; do srun python t.py; done\n";
  return system;
}

std::string read_bytes(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(InitCommand, WritesAJobFileForAProgram) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/a job.yaml";
  auto system = laptop();
  ASSERT_EQ(*call(system, {"init", "--script", "train.py", "-o", path}), 0);
  EXPECT_THAT(read_bytes(path), HasSubstr("framework: pytorch\n"));
  EXPECT_THAT(read_bytes(path), HasSubstr("run: [python3, \"-u\", train.py]\n"));
  EXPECT_EQ(system.printed, path + ": written\n");
  system.files[path] = read_bytes(path);
  EXPECT_EQ(*call(system, {"validate", path}), 0) << system.logged;
}

TEST(InitCommand, OverwritesNothing) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/job.yaml";
  std::ofstream(path) << "mine";
  auto system = laptop();
  const auto code = call(system, {"init", "--from", "job.sbatch", "-o", path});
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().what, path + " is there already");
  EXPECT_EQ(read_bytes(path), "mine");
}

TEST(InitCommand, ConvertsAScriptAndSaysWhatItDropped) {
  auto system = laptop();
  ASSERT_EQ(*call(system, {"init", "--from", "job.sbatch", "--framework", "jax", "-o", "-"}), 0);
  EXPECT_THAT(system.printed, HasSubstr("framework: jax\n"));
  EXPECT_THAT(system.logged, HasSubstr("job.sbatch: not taken over: line 2: --output=x: "));
  ASSERT_EQ(*call(system, {"init", "--script", "job.sbatch", "-o", "-"}), 0) << "by its directives";
}

TEST(InitCommand, LooksAtTheProgramOfAScript) {
  auto system = laptop();
  system.files["t.py"] = "from jax import numpy\n";
  ASSERT_EQ(*call(system, {"init", "--from", "job.sbatch", "-o", "-"}), 0);
  EXPECT_THAT(system.printed, HasSubstr("framework: jax\n"));
  system.files["mpi.sbatch"] = "#!/bin/bash\n#SBATCH -N1 -n2\nmpirun python t.py\n";
  for (const auto& [imported, framework] :
       {std::pair{"import torch\n", "mpi"}, {"import horovod.torch as hvd\n", "horovod"}}) {
    system.files["t.py"] = imported;
    system.printed.clear();
    ASSERT_EQ(*call(system, {"init", "--from", "mpi.sbatch", "-o", "-"}), 0);
    EXPECT_THAT(system.printed, HasSubstr("framework: " + std::string(framework) + "\n"));
  }
}

TEST(InitCommand, EndsWithFourWhereAScriptCannotBeConverted) {
  auto system = laptop();
  EXPECT_EQ(*call(system, {"init", "--from", "loop.sbatch", "-o", "-"}), 4);
  EXPECT_EQ(system.printed, "");
  EXPECT_THAT(system.logged, HasSubstr("loop.sbatch: cannot be converted: line 3: srun stands in"));
}

TEST(InitCommand, RefusesWhatIsNotThere) {
  auto system = laptop();
  EXPECT_FALSE(call(system, {"init", "--from", "missing.sbatch"}));
  EXPECT_FALSE(call(system, {"init", "--script", "missing.py", "--framework", "jax"}));
  EXPECT_FALSE(call(system, {"init", "--framework", "torch", "-o", "-"}));
}

TEST(InitCommand, WritesTheClusterThatTheJobIsFor) {
  auto system = laptop();
  ASSERT_EQ(*call(system, {"init", "--from", "job.sbatch", "--cluster", "lumi-g", "-o", "-"}), 0);
  EXPECT_THAT(system.printed, HasSubstr("\nname: job\ncluster: lumi-g\n"));
  system.printed.clear();
  ASSERT_EQ(*call(system, {"init", "--script", "train.py", "--cluster", "lumi-g", "-o", "-"}), 0);
  EXPECT_THAT(system.printed, HasSubstr("\nname: train\ncluster: lumi-g\n"));
  EXPECT_FALSE(call(system, {"init", "--script", "train.py", "--cluster", "lumi", "-o", "-"}));
}

}  // namespace
}  // namespace dllaunch
