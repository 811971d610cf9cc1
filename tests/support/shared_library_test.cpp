#include "support/shared_library.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/emulator.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/topology/discovery/fake_libraries.hpp"

namespace dllaunch {
namespace {

TEST(SharedLibrary, FindsWhatIsThere) {
  const SharedLibrary library(fake_nvml);
  ASSERT_TRUE(library.opened());
  EXPECT_EQ(library.why(), "");
  int (*count)(unsigned*) = nullptr;
  ASSERT_TRUE(library.find("nvmlDeviceGetCount_v2", count));
  unsigned gpus = 0;
  EXPECT_EQ(count(&gpus), 0);
  EXPECT_EQ(gpus, 4u);
  EXPECT_FALSE(library.find("nvmlNoSuchFunction", count));
  EXPECT_EQ(count, nullptr);
}

TEST(SharedLibrary, TellsAMissingLibraryFromABrokenOne) {
  const SharedLibrary missing("libno-such-library.so");
  EXPECT_FALSE(missing.opened());
  EXPECT_EQ(missing.why(), "");
  const TemporaryFolder folder;
  const auto path = folder.path() + "/text.so";
  std::ofstream(path) << "no library\n";
  const SharedLibrary broken(path);
  EXPECT_FALSE(broken.opened());
  EXPECT_NE(broken.why().find("text.so"), std::string::npos) << broken.why();
}

TEST(OwnFile, IsThisProgram) {
  const char* told = std::getenv("DLLAUNCH_TEST_OWN_FILE");
  const auto file = own_file();
  ASSERT_TRUE(file) << file.error().what;
  EXPECT_EQ(*file, told != nullptr ? told : std::filesystem::read_symlink("/proc/self/exe"));
}

/// As a bundle does on an old machine.
TEST(OwnFile, IsTheProgramThatALoaderRuns) {
  if (under_an_emulator()) GTEST_SKIP() << "an emulator runs the loader";
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
