#include "launcher/os/owned_process.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <typename Condition>
bool within_a_minute(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

class OwnedProcessTest : public testing::Test {
 protected:
  Result<OwnedProcess> shell(const std::string& script) {
    return OwnedProcess::start({.program = "/bin/sh",
                                .argv = {"sh", "-c", script},
                                .environment = {{"FROM_US", "yes"}},
                                .output_path = log_});
  }

  TemporaryFolder folder_;
  std::string log_ = folder_.path() + "/log";
};

TEST_F(OwnedProcessTest, AppendsItsOutputAndTellsItsCode) {
  for (int i = 0; i < 2; ++i) {
    auto process = shell("echo $FROM_US; echo to stderr >&2; exit 7");
    ASSERT_TRUE(process) << process.error().what;
    ASSERT_TRUE(within_a_minute([&] { return process->poll().has_value(); }));
    EXPECT_EQ(process->poll(), 7);
  }
  EXPECT_EQ(text_of(log_), "yes\nto stderr\nyes\nto stderr\n");
}

TEST_F(OwnedProcessTest, TellsTheMostMemoryOfItAndWhatItWaitedFor) {
  auto process = shell("head -c 50000000 /dev/zero | tail -c 40000000 >/dev/null");
  ASSERT_TRUE(process);
  EXPECT_EQ(process->peak_memory_bytes(), 0) << "it is not over";
  ASSERT_TRUE(within_a_minute([&] { return process->poll().has_value(); }));
  EXPECT_GT(process->peak_memory_bytes(), 30'000'000) << "tail keeps what it prints";
}

TEST_F(OwnedProcessTest, HasItsOwnGroupNoInputAndDefaultSignals) {
  const auto before = signal(SIGINT, SIG_IGN);
  auto process = shell("cat; test $(ps -o pgid= -p $$) = $$ && kill -INT $$; sleep 5");
  signal(SIGINT, before);
  ASSERT_TRUE(process);
  ASSERT_TRUE(within_a_minute([&] { return process->poll().has_value(); }));
  EXPECT_EQ(process->poll(), 128 + SIGINT);
}

TEST_F(OwnedProcessTest, SaysWhatCannotStart) {
  const auto missing = OwnedProcess::start(
      {.program = "/no/such", .argv = {"x"}, .environment = {}, .output_path = log_});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().what, "cannot start /no/such: No such file or directory");
  const auto unwritable = OwnedProcess::start(
      {.program = "/bin/true", .argv = {"true"}, .environment = {}, .output_path = "/no/such/log"});
  EXPECT_FALSE(unwritable);
}

TEST_F(OwnedProcessTest, EndsWithItsOwner) {
  pid_t pid = 0;
  {
    auto process = shell("trap '' TERM; sleep 60");
    ASSERT_TRUE(process);
    pid = process->pid();
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_NE(kill(pid, 0), 0);
}

// The owner is killed and cannot clean up: the kernel does.
TEST_F(OwnedProcessTest, EndsWhenItsOwnerIsKilled) {
  const pid_t owner = fork();
  if (owner == 0) {
    auto process = shell("echo $$; sleep 60");
    pause();
    _exit(0);
  }
  ASSERT_TRUE(within_a_minute([&] { return text_of(log_).find('\n') != std::string::npos; }));
  const pid_t grandchild = std::stoi(text_of(log_));
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  EXPECT_TRUE(within_a_minute([&] {
    std::string text;  // empty also where it ends at this moment: an iterator would throw
    std::getline(std::ifstream("/proc/" + std::to_string(grandchild) + "/stat"), text);
    return text.empty() || text.find(") Z ") != std::string::npos;
  }));
}

void die_with_our_parent() {
  const pid_t parent = getppid();
  kill(parent, SIGKILL);
  while (getppid() == parent) usleep(1000);
}

// Its owner dies before the kernel knows that it should end too.
TEST_F(OwnedProcessTest, DoesNotBeginIfItsOwnerIsKilledBefore) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t owner = fork();
  if (owner == 0) {
    pthread_atfork(nullptr, nullptr, die_with_our_parent);
    auto process = shell("echo begun");
    _exit(0);
  }
  close(ends[1]);
  waitpid(owner, nullptr, 0);
  char none = 0;
  EXPECT_EQ(read(ends[0], &none, 1), 0) << "the last process that inherited the pipe has ended";
  close(ends[0]);
  EXPECT_EQ(text_of(log_), "");
}

TEST_F(OwnedProcessTest, InheritsNoDescriptorButItsInputAndOutput) {
  const std::string count = "set -- /proc/$$/fd/*; echo $#";
  // This process may have others from its own starter.
  ASSERT_EQ(std::system(("exec </dev/null >" + log_ + "-plain; " + count).c_str()), 0);
  auto process = shell(count);
  ASSERT_TRUE(process) << process.error().what;
  ASSERT_TRUE(within_a_minute([&] { return process->poll().has_value(); }));
  EXPECT_EQ(text_of(log_), text_of(log_ + "-plain"));
}

}  // namespace
}  // namespace dllaunch
