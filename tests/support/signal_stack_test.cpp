#include "support/signal_stack.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <thread>

namespace dllaunch {
namespace {

volatile std::sig_atomic_t on_own_stack = -1;

/// Checks whether the handler's frame is on its thread's signal stack.
void look(int) {
  stack_t stack = {};
  ::sigaltstack(nullptr, &stack);
  on_own_stack = (stack.ss_flags & SS_ONSTACK) != 0 ? 1 : 0;
}

class HandledSignal : public testing::Test {
 protected:
  void SetUp() override { ::sigaction(SIGUSR1, nullptr, &before_); }
  void TearDown() override { ::sigaction(SIGUSR1, &before_, nullptr); }

  static stack_t stack_here() {
    stack_t stack = {};
    ::sigaltstack(nullptr, &stack);
    return stack;
  }

 private:
  struct sigaction before_ {};
};

TEST_F(HandledSignal, RunsOnAStackOfItsOwn) {
  ASSERT_TRUE(handle_signal(SIGUSR1, look));
  on_own_stack = -1;
  ::raise(SIGUSR1);
  EXPECT_EQ(on_own_stack, 1);
  // The kernel determines the minimum: AMX registers need 11 KiB and more.
  EXPECT_GE(static_cast<long>(stack_here().ss_size), ::sysconf(_SC_MINSIGSTKSZ) + 8192);
}

TEST_F(HandledSignal, EveryThreadHasOneUntilItEnds) {
  ASSERT_TRUE(handle_signal(SIGUSR1, look));
  void* const mine = stack_here().ss_sp;
  stack_t theirs = {};
  std::thread([&] {
    use_signal_stack();
    use_signal_stack();
    theirs = stack_here();
    on_own_stack = -1;
    ::raise(SIGUSR1);
  }).join();
  EXPECT_EQ(on_own_stack, 1);
  EXPECT_NE(theirs.ss_sp, mine);
  unsigned char resident = 0;
  EXPECT_NE(::mincore(theirs.ss_sp, 1, &resident), 0) << "its memory is left";
}

TEST_F(HandledSignal, AThreadWithoutOneIsInterruptedToo) {
  ASSERT_TRUE(handle_signal(SIGUSR1, look));
  std::thread([] {
    const stack_t none = {.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    ::sigaltstack(&none, nullptr);
    on_own_stack = -1;
    ::raise(SIGUSR1);
  }).join();
  EXPECT_EQ(on_own_stack, 0);
}

TEST_F(HandledSignal, AStackThatIsLargeEnoughStays) {
  std::thread([] {
    static char another[std::size_t{256} * 1024];
    const stack_t given = {.ss_sp = another, .ss_flags = 0, .ss_size = sizeof another};
    ::sigaltstack(&given, nullptr);
    use_signal_stack();
    EXPECT_EQ(stack_here().ss_sp, static_cast<void*>(another));
    const stack_t none = {.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    ::sigaltstack(&none, nullptr);
  }).join();
}

TEST_F(HandledSignal, TheSystemMayRefuse) {
  EXPECT_FALSE(handle_signal(SIGKILL, look));
}

}  // namespace
}  // namespace dllaunch
