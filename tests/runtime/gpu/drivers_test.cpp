#include "runtime/gpu/drivers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Drivers, OfAmdIsAFileThatCanBeOpened) {
  const TemporaryFolder folder;
  const std::string device = folder.path() + "/kfd";
  const auto none = amd_driver(device);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(none.error().what, "no AMD driver: no " + device);
  std::ofstream{device};
  EXPECT_TRUE(amd_driver(device));
}

TEST(Drivers, SayWhyTheFileOfAmdCannotBeOpened) {
  const TemporaryFolder folder;
  const auto refused = amd_driver(folder.path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "AMD's driver: " + folder.path() + ": Is a directory");
  const std::string device = folder.path() + "/kfd";
  std::ofstream{device};
  std::filesystem::permissions(device, std::filesystem::perms::none);
  if (::geteuid() == 0) GTEST_SKIP() << "root may open every file";
  const auto forbidden = amd_driver(device);
  ASSERT_FALSE(forbidden);
  EXPECT_THAT(forbidden.error().what, HasSubstr("Permission denied"));
  EXPECT_THAT(forbidden.error().hint, HasSubstr("group"));
}

TEST(Drivers, OfNvidiaAreNamedByTheirLibrary) {
  const auto driver = nvidia_driver();
  EXPECT_EQ(has_nvidia_driver(), static_cast<bool>(driver));
  if (driver) GTEST_SKIP() << "it is here";
  EXPECT_THAT(driver.error().what, StartsWith("no NVIDIA driver: libcuda.so.1"));
}

}  // namespace
}  // namespace dllaunch
