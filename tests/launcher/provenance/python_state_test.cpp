#include "launcher/provenance/python_state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "launcher/os/posix_system.hpp"
#include "launcher/plan/plan.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

std::string python_of_command(const std::vector<std::string>& command,
                              const std::string& framework = "none") {
  Job job;
  job.run_command = command;
  job.framework = framework;
  return python_of(job);
}

TEST(PythonState, IsOfTheCommandsPython) {
  EXPECT_EQ(python_of_command({"python3", "train.py"}), "python3");
  EXPECT_EQ(python_of_command({"/opt/v/bin/python", "x"}), "/opt/v/bin/python");
  EXPECT_EQ(python_of_command({"bash", "-c", "cd a\n  python3.11 train.py --lr 1"}), "python3.11");
  EXPECT_EQ(python_of_command({"bash", "-c", "x=$(python3) y"}), "");
  EXPECT_EQ(python_of_command({"./train"}), "");
  for (const char* own : {"./python_train.sh", "python-train", "pythonize", "./python3.sh"}) {
    EXPECT_EQ(python_of_command({own, "x"}), "") << "asking would start it";
    EXPECT_EQ(python_of_command({"bash", "-c", std::string("cd a && ") + own + " x"}), "");
  }
  EXPECT_EQ(python_of_command({"torchrun", "train.py"}, "pytorch"), "python3");
  EXPECT_EQ(python_of(train_job()), "") << "the built-in trainer has none";
}

TEST(PythonState, IsReadFromTheLastLineOfAnAnswer) {
  const auto state = python_state_in(
      "Loading modules\n{\"version\":\"3.11.2\",\"packages\":{\"torch\":\"2.4\"}}\n");
  EXPECT_EQ(state.version, "3.11.2");
  EXPECT_EQ(state.packages.at("torch"), "2.4");
  EXPECT_EQ(state.why, "");
  for (const char* text : {"", "{", "[]", "{\"version\":3}", "{\"packages\":7}"})
    EXPECT_EQ(python_state_in(text).why, "its answer cannot be read") << text;
}

TEST(PythonState, SaysWhyItIsUnknown) {
  FakeSystem system;
  const auto plan = planned(run_job(), small_cluster());
  EXPECT_FALSE(ask_python(system, "python3", plan).why.empty());
  system.respond = [](const auto&) { return CommandOutput{1, "", "Traceback\nImportError: x\n"}; };
  EXPECT_EQ(ask_python(system, "python3", plan).why, "ImportError: x");
  auto contained = plan;
  contained.container = Container{.image = "a.sif"};
  EXPECT_EQ(ask_python(system, "python3", contained).why, "it is in the container a.sif");
}

/// What lies in the working directory is not imported, and no secret is in a list of processes.
TEST(PythonState, OfARealPythonInItsEnvironment) {
  PosixSystem system(Console{});
  if (!system.find_program("python3")) GTEST_SKIP() << "no python3";
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() + "/bin");
  std::ofstream(folder.path() + "/bin/activate") << "export PYTHONPATH='" << folder.path() << "'\n";
  std::filesystem::create_directories(folder.path() + "/mine-1.2.dist-info");
  std::ofstream(folder.path() + "/mine-1.2.dist-info/METADATA")
      << "Metadata-Version: 2.1\nName: mine\nVersion: 1.2\n";
  auto plan = planned(run_job(), small_cluster());
  plan.activate = folder.path();
  plan.setup = "exit 9";
  plan.environment = {{"HF_TOKEN", "abc"}, {"PYTHONHASHSEED", "0"}};
  const auto state = ask_python(system, "python3", plan);
  EXPECT_EQ(state.why, "");
  EXPECT_THAT(state.version, HasSubstr("3."));
  ASSERT_TRUE(state.packages.contains("mine"));
  EXPECT_EQ(state.packages.at("mine"), "1.2");
  FakeSystem fake;
  ask_python(fake, "python3", plan);
  ASSERT_EQ(fake.ran.size(), 1u);
  EXPECT_EQ(fake.ran[0][0], "env");
  for (const auto& word : fake.ran[0]) EXPECT_EQ(word.find("abc"), std::string::npos);
}

}  // namespace
}  // namespace dllaunch
