#include "runtime/watchdog/thread_stack.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/support/emulator.hpp"
#include "tests/support/sanitizer.hpp"

namespace dllaunch {

/// Outside the anonymous namespace, so that the dynamic symbol table has it.
void wait_in_a_named_function(std::atomic<pid_t>& thread, const std::atomic<bool>& end) {
  thread = static_cast<pid_t>(::syscall(SYS_gettid));
  while (!end) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

namespace {

using namespace std::chrono_literals;

class Sleeper {
 public:
  Sleeper() : thread_([this] { wait_in_a_named_function(id_, end_); }) {
    while (id_ == 0) std::this_thread::sleep_for(1ms);
  }
  ~Sleeper() {
    end_ = true;
    thread_.join();
  }
  pid_t id() const { return id_; }

 private:
  std::atomic<pid_t> id_{0};
  std::atomic<bool> end_{false};
  std::thread thread_;
};

TEST(ThreadStack, NamesWhereAnotherThreadIs) {
  if (under_an_emulator()) GTEST_SKIP() << "no stack comes back under qemu-user";
  ASSERT_TRUE(prepare_stacks());
  const Sleeper sleeper;
  bool asleep = false;  // a busy machine may meet it between two sleeps
  for (int i = 0; i < 20; ++i) {
    const std::string stack = stack_of(sleeper.id(), 60s);
    EXPECT_THAT(stack, testing::HasSubstr("dllaunch::wait_in_a_named_function"));
    asleep = asleep || stack.find("sleep < ") != std::string::npos;
    EXPECT_LE(stack.size(), 410u);
  }
  EXPECT_TRUE(asleep);
}

TEST(ThreadStack, OfAnEndedThreadIsEmpty) {
  if (under_an_emulator()) GTEST_SKIP() << "no stack comes back under qemu-user";
  if (under_thread_sanitizer()) GTEST_SKIP() << "ThreadSanitizer delays signals";
  ASSERT_TRUE(prepare_stacks());
  pid_t gone = 0;
  {
    const Sleeper sleeper;
    gone = sleeper.id();
  }
  EXPECT_EQ(stack_of(gone, 100ms), "");
  // And it does not block the next one.
  const Sleeper sleeper;
  EXPECT_NE(stack_of(sleeper.id(), 60s), "");
}

TEST(ThreadStack, AThreadThatDoesNotAnswerInTimeDoesNotHoldUpTheNext) {
  if (under_an_emulator()) GTEST_SKIP() << "no stack comes back under qemu-user";
  ASSERT_TRUE(prepare_stacks());
  std::atomic<pid_t> id{0};
  std::atomic<bool> end{false};
  std::thread deaf([&] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    wait_in_a_named_function(id, end);
  });
  while (id == 0) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(stack_of(id, 50ms), "");
  end = true;
  deaf.join();
  const Sleeper sleeper;
  EXPECT_NE(stack_of(sleeper.id(), 60s), "");
}

TEST(ThreadStack, SymbolsAreShort) {
  EXPECT_EQ(short_symbol("_ZN8dllaunch6Loader4nextEv"), "dllaunch::Loader::next");
  EXPECT_EQ(short_symbol("poll"), "poll");
  EXPECT_EQ(short_symbol("_ZNSt6vectorIiSaIiEE9push_backERKi"), "std::vector::push_back");
  EXPECT_EQ(short_symbol("_ZN12_GLOBAL__N_13runEv"), "run");
  EXPECT_EQ(short_symbol(""), "");
  EXPECT_LE(short_symbol(std::string(500, 'x')).size(), 80u);
}

}  // namespace
}  // namespace dllaunch
