#include "launcher/execute/openmpi_scratch.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

TEST(OpenMpiScratch, IsPrivateAndGoneAtTheEnd) {
  std::vector<std::string> folders;
  {
    const OpenMpiScratch scratch;
    for (const auto& [name, folder] : scratch.variables()) {
      EXPECT_NE(name.find("_MCA_"), std::string::npos);
      EXPECT_TRUE(fs::is_directory(folder)) << folder;
      EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
      fs::create_directories(folder + "/deep/er");
      std::ofstream(folder + "/deep/segment") << "x";
      folders.push_back(folder);
    }
  }
  EXPECT_FALSE(folders.empty());
  for (const auto& folder : folders) EXPECT_FALSE(fs::exists(folder)) << folder;
}

TEST(OpenMpiScratch, WhatAKilledOneLeftIsSweptAndWhatIsHeldStays) {
  const TemporaryFolder base;
  const fs::path left = base.path() + "/dllaunch-abcdef";
  fs::create_directories(left / "deep");
  const fs::path others = base.path() + "/dllaunch-other-name";
  fs::create_directories(others);
  EXPECT_EQ(sweep_scratch(base.path(), std::chrono::minutes(1)), 0);  // may be about to be locked
  EXPECT_EQ(sweep_scratch(base.path(), std::chrono::seconds(0)), 1);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(others));

  setenv("TMPDIR", base.path().c_str(), 1);
  const OpenMpiScratch held;
  unsetenv("TMPDIR");
  const fs::path mine = held.variables().front().second;
  ASSERT_EQ(mine.parent_path(), base.path());
  EXPECT_EQ(sweep_scratch(base.path(), std::chrono::seconds(0)), 0);
  EXPECT_TRUE(fs::exists(mine));
}

}  // namespace
}  // namespace dllaunch
