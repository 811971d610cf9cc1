#include "launcher/sweep/stored_sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/launcher/disk_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

TEST(StoredSweep, IsReadOrSaidToBeDamaged) {
  const TemporaryFolder folder;
  DiskSystem system;
  EXPECT_EQ(*stored_sweep(system, folder.path()), std::nullopt);
  const Sweep sweep{.name = "a", .metric = "m", .most_trials = 3};
  std::ofstream(folder.path() + "/sweep.json") << to_json(sweep).dump();
  EXPECT_EQ((*stored_sweep(system, folder.path()))->most_trials, 3);
  std::ofstream(folder.path() + "/sweep.json") << "{\"name\":";
  EXPECT_EQ(stored_sweep(system, folder.path()).error().kind, ErrorKind::bad_request);
}

TEST(StoredSweep, OfAnotherJobFileIsNotContinued) {
  const TemporaryFolder folder;
  DiskSystem system;
  const auto problem = [&](const Sweep& sweep) {
    const auto same = check_same_sweep(system, folder.path(), sweep);
    return same ? *same ? "" : "sweep.json does not tell" : same.error().what;
  };
  EXPECT_EQ(problem({.job = "a"}), "sweep.json does not tell");
  std::ofstream(folder.path() + "/sweep.json") << to_json({.job = "a"}).dump();
  EXPECT_EQ(problem({.job = "a"}), "");
  EXPECT_THAT(problem({.job = "b"}), testing::HasSubstr("a sweep of another job file"));
  std::filesystem::create_directory(folder.path() + "/trial-00000");
  EXPECT_THAT(problem({.job = "a"}), testing::HasSubstr("has trials, and no optuna.journal"));
  std::ofstream(folder.path() + "/plan.json") << "{}";
  EXPECT_THAT(problem({.job = "a"}), testing::HasSubstr("is a run's"));
}

}  // namespace
}  // namespace dllaunch
