#include "launcher/os/scratch_folder.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "tests/support/other_process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

TEST(ScratchFolder, IsGoneWithItsOwner) {
  const TemporaryFolder base;
  std::optional<ScratchFolder> scratch(base.path());
  const fs::path mine = scratch->path();
  ASSERT_EQ(mine.parent_path(), base.path());
  EXPECT_EQ(fs::status(mine).permissions(), fs::perms::owner_all);
  std::ofstream(mine / "file") << "x";
  scratch.reset();
  EXPECT_FALSE(fs::exists(mine));
}

TEST(ScratchFolder, OfAnOwnerThatIsKilledIsRemoved) {
  const TemporaryFolder base;
  OtherProcess owner(geteuid(), [&] {
    static const ScratchFolder scratch(base.path());
    std::ofstream(scratch.path() + "/file") << "x";
    return fs::exists(scratch.path());
  });
  ASSERT_TRUE(owner.ready());
  EXPECT_FALSE(fs::is_empty(base.path()));
  owner.end();
  for (int i = 0; i < 6000 && !fs::is_empty(base.path()); ++i) usleep(10'000);
  EXPECT_TRUE(fs::is_empty(base.path()));
}

TEST(ScratchFolder, WhatAKilledOneLeftIsSweptAndWhatIsHeldStays) {
  const TemporaryFolder base;
  const fs::path left = base.path() + "/dllaunch-abcdef";
  {
    // As one that was killed leaves it.
    const ScratchFolder made(base.path());
    fs::copy(made.path(), left, fs::copy_options::recursive);
  }
  fs::create_directories(left / "deep");
  const fs::path others = base.path() + "/dllaunch-stage-7";
  fs::create_directories(others);
  EXPECT_EQ(sweep_scratch(base.path(), std::chrono::minutes(1)), 0);  // may be about to be locked
  EXPECT_EQ(sweep_scratch(base.path(), std::chrono::seconds(0)), 1);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(others));

  const ScratchFolder held(base.path());
  EXPECT_EQ(sweep_scratch(base.path(), std::chrono::seconds(0)), 0);
  EXPECT_TRUE(fs::exists(held.path()));
}

/// Six letters behind "dllaunch-", as mkdtemp() makes them.
TEST(ScratchFolder, AUsersOwnFolderIsNotSwept) {
  const TemporaryFolder base;
  for (const char* name : {"dllaunch-backup", "dllaunch-master", "dllaunch-models"}) {
    const fs::path folder = fs::path(base.path()) / name;
    fs::create_directories(folder);
    std::ofstream(folder / "thesis.tex") << "x";
  }
  const fs::path linked = base.path() + "/dllaunch-linked";
  fs::create_directories(linked);
  fs::create_symlink("thesis.tex", linked / ".dllaunch-scratch");
  EXPECT_EQ(sweep_scratch(base.path(), std::chrono::seconds(0)), 0);
  const ScratchFolder next(base.path());
  EXPECT_TRUE(fs::exists(base.path() + "/dllaunch-backup/thesis.tex"));
  EXPECT_TRUE(fs::exists(linked));
}

TEST(ScratchFolder, ThatCannotBeMadeIsEmpty) {
  EXPECT_EQ(ScratchFolder("/nowhere/at/all").path(), "");
}

}  // namespace
}  // namespace dllaunch
