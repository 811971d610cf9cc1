#include "support/fatal.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/support/sanitizer.hpp"

namespace dllaunch {
namespace {

struct End {
  int status = 0;
  std::string out;
  std::string err;
};

std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> part;
  for (ssize_t n = 0; (n = ::read(fd, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(n));
  }
  return text;
}

/// Runs `body` in a child with pipes for stdout and stderr. `filled`: its stdout pipe is full and
/// not read.
template <typename Body>
End run_in_child(Body body, bool filled = false) {
  std::array<int, 2> out;
  std::array<int, 2> err;
  EXPECT_EQ(::pipe(out.data()), 0);
  EXPECT_EQ(::pipe(err.data()), 0);
  if (filled) {
    ::fcntl(out[1], F_SETFL, O_NONBLOCK);
    while (::write(out[1], "filled", 1) == 1) continue;
    ::fcntl(out[1], F_SETFL, 0);
  }
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(out[1], STDOUT_FILENO);
    ::dup2(err[1], STDERR_FILENO);
    body();
    ::_exit(0);
  }
  ::close(out[1]);
  ::close(err[1]);
  End end;
  end.err = read_all(err[0]);
  if (!filled) end.out = read_all(out[0]);
  ::waitpid(child, &end.status, 0);
  ::close(out[0]);
  ::close(err[0]);
  return end;
}

int exit_code(const End& end) {
  return WIFEXITED(end.status) ? WEXITSTATUS(end.status) : -1;
}

TEST(FatalDeathTest, NamesTheRankTheReasonAndThePlace) {
  EXPECT_EXIT(
      {
        set_fatal_identity(3, "n1");
        die("MPI_Iallreduce", "peer is gone");
      },
      testing::ExitedWithCode(70),
      "^rank 3 on n1: MPI_Iallreduce: peer is gone \\(support/fatal_test.cpp:[0-9]+\\)\n$");
}

TEST(Fatal, IsOneLineForAnyReason) {
  const End end = run_in_child([] { die("what", "two\nlines\r\nand " + std::string(9000, 'x')); });
  EXPECT_EQ(exit_code(end), fatal_exit_code);
  EXPECT_EQ(end.err.find('\n'), end.err.size() - 1);
  EXPECT_EQ(end.err.find("dllaunch: what: two lines  and xxx"), 0u);
  EXPECT_NE(end.err.find("(support/fatal_test.cpp:"), std::string::npos) << "cut before the place";
  EXPECT_LE(end.err.size(), 4096u) << "longer lines of several ranks would mix";
}

TEST(Fatal, TakesNamesOfAnyLength) {
  const End end = run_in_child([] {
    set_fatal_identity(1 << 30, std::string(5000, 'h'));
    die("what", "why", {"file.cpp", 7});
  });
  EXPECT_EQ(exit_code(end), fatal_exit_code);
  EXPECT_NE(end.err.find("hhh: what: why (file.cpp:7)\n"), std::string::npos);
}

TEST(Fatal, FlushesButRunsNoDestructors) {
  const End end = run_in_child([] {
    std::atexit([] { std::puts("an exit handler ran"); });
    std::printf("kept");  // still buffered when die() is called
    die("what", "why");
  });
  EXPECT_EQ(exit_code(end), fatal_exit_code);
  EXPECT_EQ(end.out, "kept");
}

TEST(Fatal, DoesNotWaitForAReaderThatStoppedReading) {
  if (under_thread_sanitizer()) GTEST_SKIP() << "ThreadSanitizer delays signals";
  const auto start = std::chrono::steady_clock::now();
  const End end = run_in_child(
      [] {
        std::printf("never read");
        die("what", "why");
      },
      true);
  EXPECT_EQ(exit_code(end), fatal_exit_code);
  EXPECT_NE(end.err.find("what: why"), std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(FatalDeathTest, LeaveWithinExitsEvenWhileBlocked) {
  testing::GTEST_FLAG(death_test_style) = "fast";
  EXPECT_EXIT(
      {
        leave_within(1);
        for (;;) ::pause();
      },
      testing::ExitedWithCode(fatal_exit_code), "");
}

}  // namespace
}  // namespace dllaunch
