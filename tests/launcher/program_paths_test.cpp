#include "launcher/program_paths.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "launcher/trainer_backends.hpp"

namespace dllaunch {
namespace {

TEST(ProgramPaths, AreAbsoluteAndTheTrainerStandsBesideTheLauncher) {
  const auto paths = program_paths("runs/../runs/x");
  ASSERT_TRUE(paths) << paths.error().what;
  const auto here = std::filesystem::current_path();
  EXPECT_EQ(paths->work_dir, here);
  EXPECT_EQ(paths->run_dir, here / "runs/x");
  EXPECT_EQ(std::filesystem::path(paths->dllaunch).filename(), "launcher_test");
  EXPECT_EQ(std::filesystem::path(paths->dltrain),
            std::filesystem::path(paths->dllaunch).parent_path() / "dltrain");
  EXPECT_EQ(program_paths("/a/b")->run_dir, "/a/b");
  EXPECT_EQ(paths->trainer_gpus, gpu_devices(trainer_backends())) << "of this build";
}

}  // namespace
}  // namespace dllaunch
