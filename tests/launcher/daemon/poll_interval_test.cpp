#include "launcher/daemon/poll_interval.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(DaemonPollInterval, AsConfiguredWhileSlurmAnswers) {
  EXPECT_EQ(poll_interval_s({.interval_s = 10}), 10);
  EXPECT_EQ(poll_interval_s({.interval_s = 10, .any_live = true, .answer_s = 0.1}), 10);
}

TEST(DaemonPollInterval, ASilentControllerIsAskedLessAndLess) {
  double before = 0;
  for (int errors = 0; errors < 100; ++errors) {
    const double pause = poll_interval_s({.any_live = true, .errors = errors});
    EXPECT_GE(pause, before);
    EXPECT_LE(pause, 300);
    before = pause;
  }
  EXPECT_EQ(poll_interval_s({.any_live = true, .errors = 1}), 20);
  EXPECT_EQ(before, 300);
}

TEST(DaemonPollInterval, ASlowControllerHasMostOfItsTimeForOthers) {
  EXPECT_EQ(poll_interval_s({.interval_s = 10, .any_live = true, .answer_s = 3}), 60);
  EXPECT_EQ(poll_interval_s({.interval_s = 10, .any_live = true, .answer_s = 100}), 300);
  EXPECT_EQ(poll_interval_s({.interval_s = 3600, .any_live = true, .answer_s = 1000}), 3600);
}

}  // namespace
}  // namespace dllaunch
