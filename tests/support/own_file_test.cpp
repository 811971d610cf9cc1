#include "support/own_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace dllaunch {
namespace {

TEST(OwnFile, IsThisProgram) {
  const char* told = std::getenv("DLLAUNCH_TEST_OWN_FILE");
  const auto file = own_file();
  ASSERT_TRUE(file) << file.error().what;
  EXPECT_EQ(*file, told != nullptr ? told : std::filesystem::read_symlink("/proc/self/exe"));
}

/// As a bundle does on an old machine.
TEST(OwnFile, IsTheProgramThatALoaderRuns) {
  const char* loader = "/lib64/ld-linux-x86-64.so.2";
  if (access(loader, X_OK) != 0) GTEST_SKIP() << "no " << loader;
  const std::string file = std::filesystem::read_symlink("/proc/self/exe");
  ASSERT_EQ(setenv("DLLAUNCH_TEST_OWN_FILE", file.c_str(), 1), 0);
  const std::string command = std::string("env -u DLLAUNCH_TEST_REPORT ") + loader + " '" + file +
                              "' --gtest_filter=OwnFile.IsThisProgram";
  EXPECT_EQ(std::system(command.c_str()), 0);
  unsetenv("DLLAUNCH_TEST_OWN_FILE");
}

}  // namespace
}  // namespace dllaunch
