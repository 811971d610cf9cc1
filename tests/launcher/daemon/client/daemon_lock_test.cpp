#include "launcher/daemon/client/daemon_lock.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

class DaemonLockTest : public testing::Test {
 protected:
  std::string path() const { return folder_.path() + "/lock"; }
  TemporaryFolder folder_;
};

TEST_F(DaemonLockTest, OneHoldsItAndSaysWho) {
  EXPECT_FALSE(holder_of(path()));
  {
    const auto lock = DaemonLock::take(path());
    ASSERT_TRUE(lock);
    EXPECT_EQ(holder_of(path())->pid, getpid());
    const auto second = DaemonLock::take(path());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, ErrorKind::bad_request);
    EXPECT_NE(second.error().what.find(std::to_string(getpid())), std::string::npos);
  }
  EXPECT_FALSE(holder_of(path())) << "what stands in the file is no lock";
  EXPECT_TRUE(DaemonLock::take(path()));
}

TEST_F(DaemonLockTest, DeathLetsGoOfIt) {
  const pid_t child = fork();
  if (child == 0) {
    auto lock = DaemonLock::take(path());
    for (;;) pause();
  }
  for (int i = 0; i < 6000 && !holder_of(path()); ++i) usleep(10'000);
  EXPECT_EQ(holder_of(path())->pid, child);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(holder_of(path()));
}

/// What an sbatch of a daemon that died keeps.
TEST_F(DaemonLockTest, AChildMayHoldItBeyondOurDeath) {
  std::array<int, 2> ours{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ours.data()), 0);
  const pid_t daemon = fork();
  if (daemon == 0) {
    auto lock = DaemonLock::take(path());
    lock->share_with_children(true);
    if (fork() == 0) {
      dup2(ours[1], STDIN_FILENO);
      dup2(ours[1], STDOUT_FILENO);
      execlp("cat", "cat", nullptr);
      _exit(1);
    }
    _exit(0);
  }
  close(ours[1]);
  waitpid(daemon, nullptr, 0);
  char byte = 'x';
  ASSERT_EQ(write(ours[0], &byte, 1), 1);
  ASSERT_EQ(read(ours[0], &byte, 1), 1) << "the child has become cat";
  EXPECT_TRUE(holder_of(path()));
  close(ours[0]);  // its end
  for (int i = 0; i < 6000 && holder_of(path()); ++i) usleep(10'000);
  EXPECT_FALSE(holder_of(path()));
}

/// Locks of each node's own: ours is free, and the other login node's daemon lives.
TEST_F(DaemonLockTest, ASignatureOfAnotherHostThatIsRenewedHoldsItToo) {
  std::ofstream(path()) << "4711 login1\n";
  std::atomic<bool> over = false;
  std::thread other([&] {
    while (!over) {
      usleep(50'000);
      utimensat(AT_FDCWD, path().c_str(), nullptr, 0);
    }
  });
  const auto lock = DaemonLock::take(path(), 2s);
  over = true;
  other.join();
  ASSERT_FALSE(lock);
  EXPECT_NE(lock.error().what.find("process 4711 on login1 holds"), std::string::npos);
}

TEST_F(DaemonLockTest, AnUnrenewedLockIsStale) {
  std::ofstream(path()) << "4711 login1\n";
  EXPECT_TRUE(DaemonLock::take(path(), 300ms));
  EXPECT_EQ(std::ifstream(path()).get(), std::to_string(getpid())[0]);
}

TEST_F(DaemonLockTest, DoesNotWaitForADaemonThatExitedOrRanHere) {
  for (const bool says_goodbye : {false, true}) {
    const auto begin = std::chrono::steady_clock::now();
    const auto lock = DaemonLock::take(path(), 60s);
    ASSERT_TRUE(lock);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
    if (says_goodbye) lock->forget();
  }
  EXPECT_TRUE(std::filesystem::is_empty(path()));
}

TEST_F(DaemonLockTest, WhoseFileWasTakenAwayLearnsOfIt) {
  const auto lock = DaemonLock::take(path());
  ASSERT_TRUE(lock);
  EXPECT_TRUE(lock->renew());
  std::filesystem::remove(path());
  EXPECT_FALSE(lock->renew());
  std::ofstream(path()) << "another's\n";
  EXPECT_FALSE(lock->renew());
}

}  // namespace
}  // namespace dllaunch
