#include "launcher/staging/container_shim.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <sstream>

#include "launcher/os/posix_system.hpp"
#include "tests/support/emulator.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

TEST(ContainerShim, TheCopyRunsWithNoLibraryFromElsewhere) {
  if (under_an_emulator()) GTEST_SKIP() << "ldd is the emulator's";
  const TemporaryFolder place;
  const std::string there = place.path() + "/a b";
  for (int times = 0; times < 2; ++times) {
    const auto copied = copy_container_shim(there);
    ASSERT_TRUE(copied) << copied.error().what;
  }
  PosixSystem system{Console{}};
  const auto loads = system.run(
      {there + "/ld.so", "--inhibit-cache", "--library-path", there, "--list", there + "/dllaunch"},
      std::chrono::seconds(10));
  ASSERT_TRUE(loads);
  EXPECT_EQ(loads->exit_code, 0) << loads->err;
  std::istringstream lines(loads->out);
  int libraries = 0;
  for (std::string line; std::getline(lines, line); ++libraries) {
    EXPECT_TRUE(line.find("=> " + there) != std::string::npos ||
                line.find("vdso") != std::string::npos || line.find("/ld") != std::string::npos)
        << line;
  }
  EXPECT_GT(libraries, 3);
}

TEST(ContainerShim, AFolderThatCannotBeMadeIsNamed) {
  const auto copied = copy_container_shim("/proc/no/shim");
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().kind, ErrorKind::unavailable);
  EXPECT_NE(copied.error().what.find("cannot make /proc/no/shim: "), std::string::npos)
      << copied.error().what;
}

}  // namespace
}  // namespace dllaunch
