#include "support/abandonable_thread.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

TEST(AbandonableThread, IsOverBeforeItsOwnerGoesOn) {
  std::atomic<bool> go = false;
  auto held = std::make_shared<int>(1);
  std::weak_ptr<int> watched = held;
  {
    const AbandonableThread thread("test", 1h, [&go, held = std::move(held)] {
      while (!go) std::this_thread::sleep_for(1ms);
    });
    go = true;
  }
  EXPECT_TRUE(watched.expired()) << "the body and what it owned are gone";
}

/// Leaves with code 7 if it is destroyed.
struct Tripwire {
  ~Tripwire() { ::_exit(7); }
};

[[noreturn]] void exit_with_a_thread_that_hangs() {
  static const Tripwire tripwire;
  {
    const AbandonableThread thread("test", 1ms, [] { ::pause(); });
  }
  std::exit(3);
}

[[noreturn]] void exit_with_a_thread_that_ends() {
  static const Tripwire tripwire;
  {
    const AbandonableThread thread("test", 1h, [] {});
  }
  std::exit(3);
}

TEST(AbandonableThread, LeavesStaticObjectsToAThreadThatHangs) {
  EXPECT_EXIT(exit_with_a_thread_that_hangs(), testing::ExitedWithCode(3), "");
  EXPECT_EXIT(exit_with_a_thread_that_ends(), testing::ExitedWithCode(7), "");
}

TEST(AbandonableThread, StdoutIsFlushedAllTheSame) {
  std::array<int, 2> ends = {};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    std::printf("the last line");
    exit_with_a_thread_that_hangs();
  }
  ::close(ends[1]);
  std::string read(64, '\0');
  read.resize(
      static_cast<std::size_t>(std::max<ssize_t>(::read(ends[0], read.data(), read.size()), 0)));
  ::close(ends[0]);
  EXPECT_TRUE(read.ends_with("the last line")) << read;
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

}  // namespace
}  // namespace dllaunch
