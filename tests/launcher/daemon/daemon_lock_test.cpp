#include "launcher/daemon/daemon_lock.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

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
  for (int i = 0; i < 500 && !holder_of(path()); ++i) usleep(10'000);
  EXPECT_EQ(holder_of(path())->pid, child);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(holder_of(path()));
}

/// What an sbatch of a daemon that died keeps.
TEST_F(DaemonLockTest, AChildMayHoldItBeyondOurDeath) {
  const pid_t daemon = fork();
  if (daemon == 0) {
    auto lock = DaemonLock::take(path());
    lock->share_with_children(true);
    if (fork() == 0) {
      execlp("sleep", "sleep", "0.6", nullptr);
      _exit(1);
    }
    usleep(100'000);
    _exit(0);
  }
  waitpid(daemon, nullptr, 0);
  EXPECT_TRUE(holder_of(path()));
  for (int i = 0; i < 500 && holder_of(path()); ++i) usleep(10'000);
  EXPECT_FALSE(holder_of(path()));
}

}  // namespace
}  // namespace dllaunch
