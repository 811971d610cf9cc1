#include "launcher/os/shown_process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

#include "support/file_text.hpp"

namespace dllaunch {
namespace {

std::string shown(pid_t pid, const std::string& file) {
  const auto text = read_file_text("/proc/" + std::to_string(pid) + "/" + file);
  return text ? *text : "?";
}

TEST(ShownProcess, AHiddenEnvironmentIsNotReadByOthers) {
  std::array<int, 2> ready{};
  ASSERT_EQ(pipe(ready.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    hide_environment();
    show_as("a title", "a-name");
    close(ready[1]);
    pause();
    _exit(0);
  }
  close(ready[1]);
  char none = 0;
  EXPECT_EQ(read(ready[0], &none, 1), 0) << "the child is ready when it closes its end";
  close(ready[0]);
  EXPECT_THAT(shown(getpid(), "environ"), testing::HasSubstr("PATH="));
  EXPECT_EQ(shown(child, "environ").find_first_not_of('\0'), std::string::npos);
  EXPECT_THAT(shown(child, "cmdline"), testing::StartsWith("a title"));
  EXPECT_EQ(shown(child, "comm"), "a-name\n");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace dllaunch
