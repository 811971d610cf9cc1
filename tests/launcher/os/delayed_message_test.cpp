#include "launcher/os/delayed_message.hpp"

#include <gtest/gtest.h>

#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

TEST(DelayedMessage, SaysItOnceAndOnlyWhenItTakesLong) {
  FakeSystem system;
  { const DelayedMessage quick(system, "slow\n", 1h); }
  EXPECT_EQ(system.logged, "");
  {
    const DelayedMessage slow(system, "slow\n", 1ms);
    std::this_thread::sleep_for(200ms);
  }
  EXPECT_EQ(system.logged, "slow\n");
}

}  // namespace
}  // namespace dllaunch
