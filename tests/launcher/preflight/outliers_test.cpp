#include "launcher/preflight/outliers.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(Outliers, AreMeasuredByTheOthers) {
  EXPECT_EQ(median_of({}), 0);
  EXPECT_EQ(median_of({3}), 3);
  EXPECT_EQ(median_of({9, 1, 5}), 5);
  EXPECT_EQ(median_of({4, 1, 3, 2}), 2);

  EXPECT_DOUBLE_EQ(slowness_of({10, 2, 10}, 1).share, 0.2);
  EXPECT_DOUBLE_EQ(slowness_of({10, 2, 10}, 1).usual, 10);
  EXPECT_DOUBLE_EQ(slowness_of({10, 2}, 1).share, 0.2);
  EXPECT_DOUBLE_EQ(slowness_of({10, 2}, 0).share, 5);
  EXPECT_EQ(slowness_of({10}, 0).usual, 0);
  EXPECT_EQ(slowness_of({10}, 0).share, 1);
  EXPECT_EQ(slowness_of({10, 0}, 0).share, 1) << "others that say nothing are no measure";
}

}  // namespace
}  // namespace dllaunch
