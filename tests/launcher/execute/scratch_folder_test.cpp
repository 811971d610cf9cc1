#include "launcher/execute/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>

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

TEST(ScratchFolder, WhatAKilledOneLeftIsSweptAndWhatIsHeldStays) {
  const TemporaryFolder base;
  const fs::path left = base.path() + "/dllaunch-abcdef";
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

TEST(ScratchFolder, ThatCannotBeMadeIsEmpty) {
  EXPECT_EQ(ScratchFolder("/nowhere/at/all").path(), "");
}

}  // namespace
}  // namespace dllaunch
