#include "launcher/supervise/storage.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "launcher/run/journal.hpp"
#include "tests/support/other_process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

TEST(RunStorage, AFolderWithoutThePlanIsAnother) {
  const TemporaryFolder place;
  const RunDir run{.path = place.path() + "/run"};
  fs::create_directory(run.path);
  EXPECT_EQ(RunStorage(run).trouble(), "") << "by hand, without a plan";
  std::ofstream(run.plan_json()) << "{}";
  const RunStorage storage(run);
  EXPECT_EQ(storage.trouble(), "");
  fs::rename(run.path, place.path() + "/away");
  EXPECT_EQ(storage.trouble(), "run directory " + run.path + " does not exist");
  fs::create_directory(run.path);
  EXPECT_EQ(storage.trouble(), "run directory " + run.path + " does not exist");
  fs::remove(run.path);
  fs::rename(place.path() + "/away", run.path);
  EXPECT_EQ(storage.trouble(), "");
  EXPECT_EQ(std::distance(fs::directory_iterator(run.path), fs::directory_iterator()), 1)
      << "nothing is left of the trial";
}

TEST(RunStorage, WhereOthersRenameAFolderWithoutTheRunsIdIsAnother) {
  const TemporaryFolder place;
  const RunDir run{.path = place.path() + "/run", .id = "abc"};
  fs::create_directory(run.path);
  const RunStorage storage(run, /*guarded=*/true);
  const auto expect_refused = [&](const std::string& why) {
    const auto checked = storage.check();
    ASSERT_FALSE(checked) << why;
    EXPECT_EQ(checked.error().what, "run directory " + run.path + " " + why);
    EXPECT_EQ(storage.trouble(), checked.error().what);
  };
  expect_refused("has lost its .run-id: it may be another run's");
  std::ofstream(run.path + "/.run-id") << "other";
  expect_refused("now holds another run");
  std::ofstream(run.path + "/.run-id") << "abc";
  EXPECT_TRUE(storage.check());
  if (!can_be_others()) GTEST_SKIP() << "the rest needs root";
  ASSERT_EQ(chown(run.path.c_str(), other_user, other_user), 0);
  expect_refused("belongs to user 65533, not to you");
  ASSERT_EQ(chown(run.path.c_str(), 65534, 65534), 0);
  EXPECT_TRUE(storage.check()) << "an owner whom this node cannot name";
}

/// Sites remove old files from their scratch disks.
TEST(RunStorage, AnIdThatIsRemovedIsWrittenAnewWhereTheFolderIsTheSame) {
  const TemporaryFolder place;
  const RunDir run{.path = place.path() + "/run", .id = "abc"};
  const fs::path file = run.path + "/.run-id";
  fs::create_directory(run.path);
  for (const bool guarded : {false, true}) {
    std::ofstream(file) << "abc";
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(1000));
    const RunStorage storage(run, guarded);
    EXPECT_GT(fs::last_write_time(file), fs::file_time_type::clock::now() - std::chrono::hours(1));
    fs::remove(file);
    EXPECT_TRUE(storage.check());
    EXPECT_EQ(read_run_id(run.path), "abc");
    fs::remove(file);
    EXPECT_EQ(static_cast<bool>(RunStorage(run, guarded).check()), !guarded) << "in a later job";
  }
}

/// A file system that is briefly away has not lost it.
TEST(RunStorage, AnIdThatCannotBeReadIsNoOthers) {
  const TemporaryFolder place;
  const RunDir run{.path = place.path() + "/run", .id = "abc"};
  fs::create_directories(run.path + "/.run-id");
  EXPECT_TRUE(RunStorage(run).check());
  const auto checked = RunStorage(run, /*guarded=*/true).check();
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().what.find("cannot be read"), std::string::npos);
  EXPECT_FALSE(is_readable(run)) << "the supervisor waits";
}

TEST(RunStorage, IsBlamedForNoFileOfAnother) {
  const RunStorage storage(RunDir{.path = "/runs/a"});
  for (const char* ours : {"OSError: [Errno 28] No space left on device: 'a.pt'",
                           "dltrain: error: cannot write a: Disk quota exceeded",
                           "OSError: [Errno 116] Stale file handle: '/runs/a/a.pt'",
                           "cannot read /runs/a/checkpoints/1: Input/output error"})
    EXPECT_TRUE(storage.is_blamed_by(ours)) << ours;
  for (const char* none : {"OSError: [Errno 5] Input/output error: '/data/7.tar'",
                           "OSError: [Errno 5] Input/output error", "ValueError: no room",
                           "OSError: [Errno 116] Stale file handle: '/runs/ab/a.pt'"})
    EXPECT_FALSE(storage.is_blamed_by(none)) << none;
}

TEST(RunStorage, WhatRefusesSaysWhy) {
  const RunDir run{.path = "/proc/self"};
  EXPECT_NE(RunStorage(run).trouble().find("run directory /proc/self: create: "),
            std::string::npos);
  EXPECT_EQ(RunStorage({}).trouble(), "") << "no run directory at all";
}

}  // namespace
}  // namespace dllaunch
