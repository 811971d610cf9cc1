#include "launcher/autopsy/native_stacks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/launcher/autopsy/child_program.hpp"
#include "tests/support/emulator.hpp"

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;

[[gnu::noinline]] void innermost_known_frame(int ready) {
  if (write(ready, "r", 1) != 1) _exit(1);
  while (true) pause();
}

[[gnu::noinline]] void outer_known_frame(int ready) {
  innermost_known_frame(ready);
  _exit(2);  // so that the call above is none to jump to
}

[[gnu::noinline]] int deep_frame(int depth, int ready) {
  if (depth > 0) return 1 + deep_frame(depth - 1, ready);
  innermost_known_frame(ready);
  return 0;
}

ThreadStack read_main_thread(int pid) {
  std::vector<ThreadStack> threads = {{.id = pid}};
  read_native_stacks(pid, threads, Clock::now() + std::chrono::seconds(20));
  return threads.front();
}

std::ptrdiff_t place_of(const ThreadStack& thread, const std::string& function) {
  const auto found = std::ranges::find_if(
      thread.frames, [&](const StackFrame& frame) { return frame.function.ends_with(function); });
  return found == thread.frames.end() ? -1 : found - thread.frames.begin();
}

/// Of /proc/PID/stat: the name in this process's has no blanks.
char state_of(int pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string number;
  std::string name;
  char state = '?';
  in >> number >> name >> state;
  return state;
}

bool are_off(const ThreadStack& thread) {
  return thread.why_not.find("elfutils") != std::string::npos;
}

class NativeStacks : public testing::Test {
  void SetUp() override {
    if (under_an_emulator()) GTEST_SKIP() << "qemu-user has no ptrace";
  }
};

TEST_F(NativeStacks, AreThoseOfAKnownProgramOutermostFirst) {
  const ChildProgram child(outer_known_frame);
  ASSERT_TRUE(child.ready());
  const ThreadStack thread = read_main_thread(child.pid());
  if (are_off(thread)) GTEST_SKIP() << thread.why_not;
  EXPECT_EQ(thread.why_not, "");
  const auto outer = place_of(thread, "outer_known_frame");
  const auto inner = place_of(thread, "innermost_known_frame");
  ASSERT_GE(outer, 0);
  EXPECT_EQ(inner, outer + 1);
  const StackFrame& frame = thread.frames[static_cast<std::size_t>(outer)];
  EXPECT_EQ(frame.language, Language::native);
  EXPECT_NE(frame.file, "");
  EXPECT_EQ(frame.file.find('/'), std::string::npos);
  EXPECT_NE(state_of(child.pid()), 't');  // it was let go
}

TEST_F(NativeStacks, OfADeepRecursionAreItsInnermostFrames) {
  const ChildProgram child([](int ready) { _exit(deep_frame(50'000, ready) == 0 ? 1 : 2); });
  ASSERT_TRUE(child.ready());
  const ThreadStack thread = read_main_thread(child.pid());
  if (are_off(thread)) GTEST_SKIP() << thread.why_not;
  EXPECT_EQ(thread.frames.size(), 128u);
  EXPECT_GE(place_of(thread, "innermost_known_frame"), 100);
}

TEST_F(NativeStacks, LeaveAStoppedProgramStopped) {
  const ChildProgram child(outer_known_frame);
  ASSERT_TRUE(child.ready());
  child.stop();
  const ThreadStack thread = read_main_thread(child.pid());
  if (are_off(thread)) GTEST_SKIP() << thread.why_not;
  EXPECT_GE(place_of(thread, "innermost_known_frame"), 0) << thread.why_not;
  EXPECT_EQ(state_of(child.pid()), 'T');
  kill(child.pid(), SIGCONT);
  for (int i = 0; i < 6000 && state_of(child.pid()) != 'S'; ++i) usleep(10'000);
  EXPECT_EQ(state_of(child.pid()), 'S');
}

TEST_F(NativeStacks, OfAProcessThatHasEndedSayWhyNot) {
  ChildProgram child(outer_known_frame);
  const int pid = child.pid();
  child.end();
  const ThreadStack thread = read_main_thread(pid);
  EXPECT_TRUE(thread.frames.empty());
  EXPECT_NE(thread.why_not, "");
}

TEST_F(NativeStacks, EndAtTheDeadline) {
  const ChildProgram child(outer_known_frame);
  std::vector<ThreadStack> threads = {{.id = child.pid()}};
  read_native_stacks(child.pid(), threads, Clock::now() - std::chrono::seconds(1));
  if (are_off(threads.front())) GTEST_SKIP() << threads.front().why_not;
  EXPECT_EQ(threads.front().why_not, "no time was left for it");
}

/// An autopsy must not change what a program computes, however often it is done.
TEST_F(NativeStacks, DoNotDisturbAProgramThatComputes) {
  ChildProgram child(
      [](int ready) {
        if (write(ready, "r", 1) != 1) _exit(1);
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < 400'000'000; ++i) sum = sum * 6364136223846793005 + i;
        _exit(sum == 0 ? 1 : 7);
      },
      /*waits=*/false);  // it comes to rest at its end only
  ASSERT_TRUE(child.says());
  for (int i = 0; i < 20; ++i) read_main_thread(child.pid());
  EXPECT_EQ(child.wait(), 7);
}

}  // namespace
}  // namespace dllaunch
