#include "runtime/watchdog/kernel_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <random>
#include <thread>

namespace dllaunch {
namespace {

/// A sleeping child, killed by the destructor.
class Child {
 public:
  Child() : pid_(fork()) {
    if (pid_ != 0) return;
    while (true) pause();
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  std::string becomes(const std::string& wanted) const {
    std::string seen;
    for (int i = 0; i < 6000 && seen != wanted; ++i) {
      seen = describe(look_at_thread(pid_, pid_));
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return seen;
  }

 private:
  pid_t pid_;
};

TEST(KernelView, SeesThatAProcessIsStopped) {
  const Child child;
  kill(child.pid(), SIGSTOP);
  EXPECT_EQ(child.becomes("stopped"), "stopped");
}

TEST(KernelView, SeesThatAProcessIsDeadAndHowItEnded) {
  const Child child;
  kill(child.pid(), SIGKILL);
  EXPECT_EQ(child.becomes("dead"), "dead");
  const KernelView view = look_at_thread(child.pid(), child.pid());
  EXPECT_TRUE(WIFSIGNALED(view.end));
  EXPECT_EQ(WTERMSIG(view.end), SIGKILL);
}

TEST(KernelView, NamesTheSystemCall) {
  EXPECT_EQ(describe(read_kernel_view("12 (a) b) D 1 2", "folio_wait_bit",
                                      std::to_string(SYS_read) + " 0x3 0x7f")),
            "blocked in the kernel in read (folio_wait_bit)");
  EXPECT_EQ(describe(read_kernel_view("12 (x) S 1", "0", std::to_string(SYS_futex))),
            "asleep in futex");
  EXPECT_EQ(describe(read_kernel_view("12 (x) S 1", "", "9999 0x0")), "asleep in system call 9999");
  EXPECT_EQ(describe(read_kernel_view("12 (x) R 1", "", "running")), "running, in no system call");
  EXPECT_EQ(describe(read_kernel_view("", "", "")), "dead");
}

TEST(KernelView, AcceptsAnyText) {
  std::mt19937 random(5);
  for (int i = 0; i < 20'000; ++i) {
    std::string stat(random() % 60, ' ');
    for (char& c : stat)
      c = static_cast<char>(random() % 3 == 0 ? " )Z0-"[random() % 5] : random());
    const std::string text = describe(read_kernel_view(stat, stat, stat));
    EXPECT_FALSE(text.empty());
    EXPECT_LE(text.size(), 200u);
  }
}

}  // namespace
}  // namespace dllaunch
