#include "launcher/autopsy/python_stacks.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "launcher/os/descendants.hpp"
#include "launcher/os/posix_system.hpp"
#include "tests/launcher/autopsy/child_program.hpp"
#include "tests/support/emulator.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view dump = R"(Thread 0x00007f53 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 320 in wait
  File "/a "b", line 1 in c/train.py", line 12 in helper

Current thread 0x00007f54 (most recent call first):
  File "/a/train.py", line 5 in fetch
  File "/a/train.py", line 9 in <module>

Extension modules: numpy.core (total: 1)
)";

TEST(PythonStacks, OfFaulthandlerBeginWithTheMainThread) {
  const auto stacks = parse_faulthandler(dump);
  ASSERT_EQ(stacks.size(), 2u);
  const StackFrame fetch{
      .function = "fetch", .file = "train.py", .line = 5, .language = Language::python};
  EXPECT_EQ(stacks[0].size(), 2u);
  EXPECT_EQ(stacks[0].front().function, "<module>");
  EXPECT_EQ(stacks[0].back(), fetch);
  EXPECT_EQ(stacks[1].front().file, "train.py");  // its path holds what separates the fields
  EXPECT_EQ(stacks[1].back().function, "wait");
}

TEST(PythonStacks, OfOtherTextAreNone) {
  for (const std::string_view text : {"", "\n\n", "  File \"a\", line 1 in f\n", "Thread 0x1",
                                      "Thread 0x1 (most recent call first):\n  <no Python frame>\n",
                                      "Thread 0x1:\n  File \"a\", line in f\n  File \"a\n"}) {
    const auto stacks = parse_faulthandler(text);
    EXPECT_LE(stacks.size(), 1u) << text;
  }
  EXPECT_EQ(parse_faulthandler("Thread 0x1:\n  File \"a\", line 3 in f").size(), 1u);
}

TEST(PythonStacks, OfDeepRecursionAreBounded) {
  std::string text = "Thread 0x1:\n";
  for (int i = 0; i < 5000; ++i) text += "  File \"a.py\", line 1 in f\n";
  ASSERT_EQ(parse_faulthandler(text).size(), 1u);
  EXPECT_EQ(parse_faulthandler(text)[0].size(), 256u);
}

TEST(PythonStacks, OfPySpyBeginWithTheMainThread) {
  const auto stacks = parse_py_spy(R"([
    {"pid": 1, "thread_id": 7, "thread_name": "Thread-1", "frames": [
      {"name": "work", "filename": "/a/b.py", "line": 3}]},
    {"pid": 1, "thread_id": 1, "thread_name": "MainThread", "frames": [
      {"name": "fetch", "filename": "/a/train.py", "line": 5},
      {"name": "<module>", "filename": "train.py", "line": 9}]},
    {"thread_name": "idle", "frames": []}])");
  ASSERT_TRUE(stacks) << stacks.error().what;
  ASSERT_EQ(stacks->size(), 2u);
  EXPECT_EQ((*stacks)[0].back().function, "fetch");
  EXPECT_EQ((*stacks)[0].back().line, 5);
  EXPECT_EQ((*stacks)[1].back().file, "b.py");
}

TEST(PythonStacks, OfPySpyThatIsNoneAreRefused) {
  for (const std::string_view text : {"", "{}", "[1]", "[null", "\"\"", "[[]]"}) {
    const auto stacks = parse_py_spy(text);
    ASSERT_FALSE(stacks) << text;
    EXPECT_EQ(stacks.error().kind, ErrorKind::bad_request);
  }
  EXPECT_TRUE(parse_py_spy(R"([{"frames": [1, {}, {"name": 3}], "thread_name": 5}])"));
}

/// A real python3, started as `dllaunch exec` would.
class PythonProgram : public testing::Test {
 protected:
  void SetUp() override {
    if (under_an_emulator()) GTEST_SKIP() << "the signal's number differs under qemu-user";
    if (std::system("python3 -c 'import os; os.memfd_create' 2>/dev/null") != 0)
      GTEST_SKIP() << "no python3";
    std::ofstream(folder_.path() + "/sitecustomize.py") << python_start_file();
  }
  auto python(const std::string& code, const std::string& more_path = "") const {
    return program({"python3", "-u", "-c", code},
                   {{"PYTHONPATH", folder_.path() + (more_path.empty() ? "" : ":" + more_path)}});
  }
  static Clock::time_point soon() { return Clock::now() + std::chrono::seconds(20); }

  TemporaryFolder folder_;
  PosixSystem system_{Console{}};
};

constexpr const char* threads_code = R"(
import threading, time
started = threading.Event()
def helper_thread():
    started.set()
    time.sleep(1000)
threading.Thread(target=helper_thread, daemon=True).start()
started.wait()
def waits_here():
    print("ready")
    time.sleep(1000)
waits_here()
)";

TEST_F(PythonProgram, IsReadWithItsThreads) {
  const ChildProgram child(python(threads_code));
  ASSERT_TRUE(child.ready());
  EXPECT_TRUE(is_python(child.pid()));
  EXPECT_FALSE(is_python(getpid()));
  for (int round = 0; round < 3; ++round) {
    const auto stacks = read_python_stacks(system_, child.pid(), soon());
    ASSERT_TRUE(stacks) << stacks.error().what;
    ASSERT_EQ(stacks->size(), 2u);
    EXPECT_EQ((*stacks)[0].back().function, "waits_here");
    EXPECT_EQ((*stacks)[0].back().line, 11);
    EXPECT_EQ((*stacks)[1].back().function, "helper_thread");
  }
  EXPECT_EQ(kill(child.pid(), 0), 0);
}

TEST_F(PythonProgram, ThatForksIsReadChildByChild) {
  const ChildProgram child(python(R"(
import os, time
def parent_waits():
    print("ready")
    time.sleep(1000)
def child_waits():
    time.sleep(1000)
if os.fork() == 0:
    child_waits()
parent_waits()
)"));
  ASSERT_TRUE(child.ready());
  const auto below = descendants_of(child.pid());
  ASSERT_EQ(below.size(), 1u);
  const auto of_child = read_python_stacks(system_, below[0].pid, soon());
  ASSERT_TRUE(of_child) << of_child.error().what;
  EXPECT_EQ(of_child->front().back().function, "child_waits");
  const auto of_parent = read_python_stacks(system_, child.pid(), soon());
  ASSERT_TRUE(of_parent) << of_parent.error().what;
  EXPECT_EQ(of_parent->front().back().function, "parent_waits");
  kill(below[0].pid, SIGKILL);
}

TEST_F(PythonProgram, RunsTheUsersOwnStartFileToo) {
  const TemporaryFolder users;
  std::ofstream(users.path() + "/sitecustomize.py") << "import sys; sys.of_the_user = 17\n";
  const ChildProgram child(python(R"(
import sys, time, sitecustomize
assert sys.of_the_user == 17 and sitecustomize.__file__.startswith(")" +
                                      users.path() + R"(")
def waits_here():
    print("ready")
    time.sleep(1000)
waits_here()
)",
                                  users.path()));
  ASSERT_TRUE(child.ready());
  EXPECT_TRUE(read_python_stacks(system_, child.pid(), soon()));
}

TEST_F(PythonProgram, ThatIsStoppedDoesNotAnswer) {
  const ChildProgram child(python(threads_code));
  ASSERT_TRUE(child.ready());
  child.stop();
  const auto stacks =
      read_python_stacks(system_, child.pid(), Clock::now() + std::chrono::milliseconds(100));
  ASSERT_FALSE(stacks);
  EXPECT_EQ(stacks.error().kind, ErrorKind::timeout);
}

int stacks_of_child = -1;

/// As faulthandler does for one thread.
void write_a_stack() {
  constexpr std::string_view stack = "Thread 0x1:\n  File \"a.py\", line 3 in f\n";
  if (write(stacks_of_child, stack.data(), stack.size()) < 0) _exit(1);
}

/// A child that `handler` answers for.
ChildProgram that_answers(void (*handler)(int)) {
  return ChildProgram([handler](int ready) {
    stacks_of_child = memfd_create("dllaunch-stacks", 0);
    struct sigaction writes {};
    writes.sa_handler = handler;
    sigaction(autopsy_signal(), &writes, nullptr);
    if (write(ready, "r", 1) != 1) _exit(1);
    while (true) pause();
  });
}

/// A busy machine takes its time between two lines.
TEST(PythonStacks, AreReadToTheirEndHoweverSlowlyTheyAreWritten) {
  if (under_an_emulator()) GTEST_SKIP() << "the signal's number differs under qemu-user";
  const ChildProgram child = that_answers([](int) {
    for (int thread = 0; thread < 3; ++thread) {
      write_a_stack();
      usleep(200'000);
    }
  });
  ASSERT_TRUE(child.ready());
  FakeSystem no_py_spy;
  const auto soon = Clock::now() + std::chrono::seconds(60);
  const auto stacks = read_python_stacks(no_py_spy, child.pid(), soon);
  ASSERT_TRUE(stacks) << stacks.error().what;
  EXPECT_EQ(stacks->size(), 3u);
}

/// A thread that never takes the signal is not the one that writes.
TEST(PythonStacks, AreNotWaitedForBecauseOfAThreadThatStartsMeanwhile) {
  if (under_an_emulator()) GTEST_SKIP() << "the signal's number differs under qemu-user";
  const ChildProgram child = that_answers([](int) {
    pthread_t other{};  // has the handler's mask
    const auto sleeps = [](void*) -> void* {
      while (true) pause();
    };
    if (pthread_create(&other, nullptr, sleeps, nullptr) != 0) _exit(1);
    write_a_stack();
  });
  ASSERT_TRUE(child.ready());
  FakeSystem no_py_spy;
  const auto deadline = Clock::now() + std::chrono::seconds(60);
  const auto stacks = read_python_stacks(no_py_spy, child.pid(), deadline);
  ASSERT_TRUE(stacks) << stacks.error().what;
  EXPECT_EQ(stacks->size(), 1u);
  EXPECT_LT(Clock::now(), deadline);
}

/// The signal would end it.
TEST_F(PythonProgram, WithoutTheStartFileIsNotSignalled) {
  const ChildProgram child(program({"python3", "-c",
                                    "import time; print('ready', flush=True); "
                                    "time.sleep(1000)"}));
  ASSERT_TRUE(child.ready());
  FakeSystem no_py_spy;
  const auto stacks = read_python_stacks(no_py_spy, child.pid(), soon());
  ASSERT_FALSE(stacks);
  EXPECT_EQ(stacks.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(stacks.error().hint, "pip install py-spy");
  EXPECT_EQ(waitpid(child.pid(), nullptr, WNOHANG), 0);  // it lives
}

}  // namespace
}  // namespace dllaunch
