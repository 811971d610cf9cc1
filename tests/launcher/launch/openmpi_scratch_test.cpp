#include "launcher/launch/openmpi_scratch.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

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

}  // namespace
}  // namespace dllaunch
