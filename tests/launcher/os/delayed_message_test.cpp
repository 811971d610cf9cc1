#include "launcher/os/delayed_message.hpp"

#include <gtest/gtest.h>

#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

TEST(SlowNote, SaysItOnceAndOnlyWhenItTakesLong) {
  FakeWorld world;
  { const SlowNote quick(world, "slow\n", 1h); }
  EXPECT_EQ(world.noted, "");
  {
    const SlowNote slow(world, "slow\n", 1ms);
    std::this_thread::sleep_for(200ms);
  }
  EXPECT_EQ(world.noted, "slow\n");
}

}  // namespace
}  // namespace dllaunch
