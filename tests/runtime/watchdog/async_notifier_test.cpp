#include "runtime/watchdog/async_notifier.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;

StallNotice notice(int number) {
  StallNotice one;
  one.line = std::to_string(number);
  return one;
}

TEST(AsyncNotifier, DeliversEverythingInOrderBeforeItEnds) {
  std::mutex mutex;
  std::vector<std::string> said;
  {
    AsyncNotifier notifier([&](const StallNotice& one) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      const std::lock_guard<std::mutex> lock(mutex);
      said.push_back(one.line);
    });
    for (int i = 0; i < 10; ++i) notifier.tell(notice(i));
  }
  EXPECT_EQ(said, (std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}));
}

TEST(AsyncNotifier, NeverBlocksTheCaller) {
  struct Stuck {
    std::atomic<bool> go{false};
    std::atomic<int> said{0};
  };
  const auto stuck = std::make_shared<Stuck>();
  const auto start = Clock::now();
  {
    AsyncNotifier notifier([stuck](const StallNotice&) {
      while (!stuck->go) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ++stuck->said;
    });
    for (int i = 0; i < 1000; ++i) notifier.tell(notice(i));
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(30));
  }
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(60)) << "it is left behind";
  stuck->go = true;
  while (stuck->said < 16) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(stuck->said, 16) << "the rest had no room";
}

TEST(AsyncNotifier, AcceptsAnEmptyCallback) {
  AsyncNotifier notifier({});
  notifier.tell(notice(1));
}

}  // namespace
}  // namespace dllaunch
