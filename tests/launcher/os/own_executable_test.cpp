#include "launcher/os/own_executable.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "launcher/os/posix_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

TEST(OwnExecutable, IsThisTest) {
  const char* told = std::getenv("DLLAUNCH_TEST_OWN_EXECUTABLE");
  const auto program = own_executable();
  ASSERT_TRUE(program) << program.error().what;
  EXPECT_EQ(std::filesystem::path(*program).filename(), told != nullptr ? told : "execute_test");
  EXPECT_TRUE(std::filesystem::path(*program).is_absolute());
}

TEST(OwnExecutable, IsTheStarterOfAProgramInABundle) {
  const TemporaryFolder folder;
  const std::string started = folder.path() + "/a program.real";
  std::filesystem::copy_file("/proc/self/exe", started);
  PosixSystem system{Console{}};
  const auto output =
      system.run({"env", "-u", "DLLAUNCH_TEST_REPORT", "DLLAUNCH_TEST_OWN_EXECUTABLE=a program",
                  started, "--gtest_filter=OwnExecutable.IsThisTest"},
                 std::chrono::seconds(60));
  ASSERT_TRUE(output) << output.error().what;
  EXPECT_EQ(output->exit_code, 0) << output->out << output->err;
}

}  // namespace
}  // namespace dllaunch
