#include "launcher/plan/program_paths.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "launcher/job/trainer_backends.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

TEST(ProgramPaths, AreAbsoluteAndTheTrainerStandsBesideTheLauncher) {
  const auto paths = program_paths("runs/../runs/x");
  ASSERT_TRUE(paths) << paths.error().what;
  const auto here = std::filesystem::current_path();
  EXPECT_EQ(paths->work_dir, here);
  EXPECT_EQ(paths->run_dir, here / "runs/x");
  EXPECT_EQ(std::filesystem::path(paths->dllaunch).filename(), "launcher_plan_test");
  EXPECT_EQ(std::filesystem::path(paths->dltrain),
            std::filesystem::path(paths->dllaunch).parent_path() / "dltrain");
  EXPECT_EQ(program_paths("/a/b")->run_dir, "/a/b");
  EXPECT_EQ(paths->trainer_gpus, gpu_devices(trainer_backends())) << "of this build";
}

/// A restart of the run must not follow the link to where it points by then.
TEST(ProgramPaths, ALinkToTheRunDirectoryIsResolvedWhenTheRunIsMade) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  const auto base = fs::canonical(folder.path());
  fs::create_directories(base / "A");
  fs::create_directories(base / "B");
  fs::create_directory_symlink(base / "A", base / "cur");
  const auto first = program_paths((base / "cur").string());
  fs::remove(base / "cur");
  fs::create_directory_symlink(base / "B", base / "cur");
  EXPECT_EQ(first->run_dir, base / "A");
  EXPECT_EQ(program_paths((base / "cur" / "new").string())->run_dir, base / "B/new");
}

}  // namespace
}  // namespace dllaunch
