#include "launcher/supervise/signals.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

namespace dllaunch {
namespace {

TEST(SupervisorSignals, AreKeptUntilRead) {
  const SupervisorSignals signals(SIGUSR2);
  kill(getpid(), SIGUSR2);
  kill(getpid(), SIGTERM);
  kill(getpid(), SIGCHLD);
  pollfd source{.fd = signals.fd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&source, 1, 1000), 1);
  auto came = signals.take();
  EXPECT_EQ(came.size(), 2u) << "SIGCHLD only wakes up";
  EXPECT_TRUE(signals.take().empty());
}

TEST(SupervisorSignals, TheMaskIsPutBack) {
  sigset_t before;
  sigset_t after;
  sigprocmask(SIG_BLOCK, nullptr, &before);
  { const SupervisorSignals signals(SIGUSR2); }
  sigprocmask(SIG_BLOCK, nullptr, &after);
  EXPECT_EQ(sigismember(&before, SIGUSR2), sigismember(&after, SIGUSR2));
  EXPECT_EQ(sigismember(&after, SIGTERM), 0);
}

}  // namespace
}  // namespace dllaunch
