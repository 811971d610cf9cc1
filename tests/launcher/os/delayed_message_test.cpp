#include "launcher/os/delayed_message.hpp"

#include <gtest/gtest.h>

#include <future>
#include <string_view>

#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

TEST(DelayedMessage, SaysItOnceAndOnlyWhenItTakesLong) {
  struct Listening : FakeSystem {
    std::promise<void> said;
    void log(std::string_view text) override {
      FakeSystem::log(text);
      said.set_value();
    }
  } system;
  { const DelayedMessage quick(system, "slow\n", 1h); }
  EXPECT_EQ(system.logged, "");
  {
    const DelayedMessage slow(system, "slow\n", 1ms);
    EXPECT_EQ(system.said.get_future().wait_for(60s), std::future_status::ready);
  }
  EXPECT_EQ(system.logged, "slow\n");
}

}  // namespace
}  // namespace dllaunch
