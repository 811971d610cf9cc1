#include "launcher/supervise/storage.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

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
