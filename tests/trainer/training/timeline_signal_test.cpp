#include "trainer/training/timeline_signal.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

namespace dllaunch {
namespace {

TEST(TimelineSignal, EachIsCounted) {
  // In a child process: the handler belongs to the process.
  const auto count_three = [] {
    const auto& switches = catch_timeline_signal();
    if (switches != 0) std::_Exit(9);
    for (int i = 0; i < 3; ++i) std::raise(SIGUSR1);
    std::_Exit(switches == 3 ? 0 : 1);
  };
  EXPECT_EXIT(count_three(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace dllaunch
