#include "launcher/os/stop_signals.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

TEST(StopSignals, CountInsteadOfKilling) {
  const StopSignals signals;
  EXPECT_EQ(signals.count(), 0);
  EXPECT_EQ(signals.first(), 0);
  raise(SIGTERM);
  raise(SIGINT);
  EXPECT_EQ(signals.count(), 2);
  EXPECT_EQ(signals.first(), SIGTERM);
}

TEST(StopSignals, EndASleep) {
  const StopSignals signals;
  ASSERT_EQ(alarm(0), 0u);
  const auto began = std::chrono::steady_clock::now();
  const pid_t self = getpid();
  const pid_t child = fork();
  if (child == 0) {
    usleep(100'000);
    kill(self, SIGINT);
    _exit(0);
  }
  signals.wait(60s);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 30s);
  EXPECT_EQ(signals.count(), 1);
}

TEST(StopSignals, PutThingsBack) {
  const auto before = signal(SIGTERM, SIG_IGN);
  { const StopSignals signals; }
  EXPECT_EQ(signal(SIGTERM, before), SIG_IGN);
}

TEST(StopSignals, NohupHolds) {
  const auto before = signal(SIGHUP, SIG_IGN);
  {
    const StopSignals signals;
    raise(SIGHUP);
    EXPECT_EQ(signals.count(), 0);
  }
  signal(SIGHUP, before);
}

}  // namespace
}  // namespace dllaunch
