#include "launcher/os/background.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

TEST(Background, HasItsOwnSessionAndWritesToTheLog) {
  const TemporaryFolder folder;
  const std::string log = folder.path() + "/log";
  const auto pid = fork_into_background(log);
  ASSERT_TRUE(pid);
  if (*pid == 0) {
    char byte = 0;
    const bool good = getsid(0) == getpid() && read(STDIN_FILENO, &byte, 1) == 0;
    std::printf("%s", good ? "alone" : "not alone");
    std::fprintf(stderr, " at last");
    std::fflush(nullptr);
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(*pid, &status, 0);
  EXPECT_EQ(status, 0);
  std::ifstream file(log);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find("alone"), std::string::npos);
  EXPECT_NE(text.find("at last"), std::string::npos);
}

TEST(Background, RefusesAnUnwritableLog) {
  EXPECT_FALSE(fork_into_background("/no/such/log"));
}

}  // namespace
}  // namespace dllaunch
