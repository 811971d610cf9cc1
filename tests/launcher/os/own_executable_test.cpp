#include "launcher/os/own_executable.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "launcher/os/posix_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

TEST(OwnExecutable, IsThisTest) {
  const auto program = own_executable();
  ASSERT_TRUE(program) << program.error().what;
  EXPECT_EQ(std::filesystem::path(*program).filename(), "execute_test");
  EXPECT_TRUE(std::filesystem::path(*program).is_absolute());
}

// A bundle's starter runs its program by the loader that it brings.
TEST(OwnExecutable, IsTheStarterWhereALoaderRunsTheProgram) {
  const char* loader = "/lib64/ld-linux-x86-64.so.2";
  if (access(loader, X_OK) != 0) GTEST_SKIP() << "no " << loader;
  const TemporaryFolder folder;
  const std::string started = folder.path() + "/a program.real";
  std::filesystem::copy_file("/proc/self/exe", started);
  PosixSystem system{Console{}};
  const auto output =
      system.run({"env", "DLLAUNCH_TEST_STARTER=" + folder.path() + "/a program", loader, started,
                  "--gtest_also_run_disabled_tests", "--gtest_filter=*IsWhatThatTestNames"},
                 std::chrono::seconds(60));
  ASSERT_TRUE(output) << output.error().what;
  EXPECT_EQ(output->exit_code, 0) << output->out << output->err;
}

TEST(OwnExecutable, DISABLED_IsWhatThatTestNames) {
  const char* starter = std::getenv("DLLAUNCH_TEST_STARTER");
  ASSERT_NE(starter, nullptr);
  const auto program = own_executable();
  ASSERT_TRUE(program) << program.error().what;
  EXPECT_EQ(*program, starter);
}

}  // namespace
}  // namespace dllaunch
