#include "launcher/os/descent_mark.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace dllaunch {
namespace {

constexpr std::uint64_t mark = (std::uint64_t{1} << 62) + 4711;

/// A process that has left its parents, its session, its environment and its descriptors, and
/// handles no signal.
pid_t start_deserter() {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return 0;
  const pid_t child = fork();
  if (child == 0) {
    if (!mark_descent(mark)) _exit(1);
    if (fork() != 0) _exit(0);
    setsid();
    const pid_t parent = getpid();
    if (fork() != 0) _exit(0);
    while (getppid() == parent) usleep(1000);  // it has the mark too
    const pid_t self = getpid();
    if (write(ends[1], &self, sizeof self) != sizeof self) _exit(1);
    for (int fd = 0; fd < 64; ++fd) close(fd);
    char* const none[] = {nullptr};
    char* const argv[] = {const_cast<char*>("sleep"), const_cast<char*>("300"), nullptr};
    execve("/bin/sleep", argv, none);
    _exit(1);
  }
  waitpid(child, nullptr, 0);
  pid_t deserter = 0;
  close(ends[1]);
  if (read(ends[0], &deserter, sizeof deserter) != sizeof deserter) deserter = 0;
  close(ends[0]);
  return deserter;
}

TEST(DescentMark, StaysWithADescendantThatLeftAllElse) {
  const pid_t deserter = start_deserter();
  ASSERT_GT(deserter, 0);
  EXPECT_EQ(descent_mark_of(deserter), mark);
  EXPECT_EQ(marked_processes(mark, mark), std::vector<pid_t>{deserter});
  EXPECT_EQ(marked_processes(mark - 10, mark + 10), std::vector<pid_t>{deserter});
  EXPECT_TRUE(marked_processes(mark + 1, mark + 10).empty());
  kill(deserter, SIGKILL);
}

TEST(DescentMark, AProcessThatDescendsFromNoneHasNone) {
  EXPECT_EQ(descent_mark_of(getpid()), 0u);
  EXPECT_EQ(descent_mark_of(1 << 30), 0u) << "there is no such process";
}

}  // namespace
}  // namespace dllaunch
