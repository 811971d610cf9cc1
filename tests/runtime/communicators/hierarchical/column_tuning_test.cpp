#include "runtime/communicators/hierarchical/column_tuning.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace dllaunch {
namespace {

TEST(ColumnTuning, EachSizeGoesItsFastestWay) {
  const std::vector<WayTimes> times = {{512, 10, 20, 15},  {1024, 11, 20, 16}, {2048, 19, 21, 17},
                                       {4096, 30, 25, 18}, {8192, 60, 28, 30}, {16384, 99, 30, 60}};
  const ColumnLimits limits = choose_limits(times, {});
  EXPECT_EQ(limits.whole_bytes, 1024u);
  EXPECT_EQ(limits.parts_bytes, 8192u);
  EXPECT_EQ(limits.most_nodes, ColumnLimits{}.most_nodes);
}

TEST(ColumnTuning, ADifferenceOfLessThanATenthIsNone) {
  const std::vector<WayTimes> times = {{512, 10.5, 11, 10}, {1024, 10.5, 10.5, 10}};
  EXPECT_EQ(choose_limits(times, {}).whole_bytes, 1024u) << "fewer messages";
}

TEST(ColumnTuning, OneWayMayBeBestForAll) {
  const std::vector<WayTimes> parts = {{512, 9, 1, 9}, {1024, 9, 1, 9}};
  EXPECT_EQ(choose_limits(parts, {}).whole_bytes, 0u);
  EXPECT_EQ(choose_limits(parts, {}).parts_bytes, 512u);
  const std::vector<WayTimes> mpi = {{512, 9, 9, 1}, {1024, 9, 9, 1}};
  EXPECT_EQ(choose_limits(mpi, {}).whole_bytes, 0u);
  EXPECT_EQ(choose_limits(mpi, {}).parts_bytes, 1024u) << "what is larger goes in parts";
}

TEST(ColumnTuning, NothingMeasuredChangesNothing) {
  const ColumnLimits before{.whole_bytes = 7, .parts_bytes = 70, .most_nodes = 3};
  const ColumnLimits after = choose_limits({}, before);
  EXPECT_EQ(after.whole_bytes, 7u);
  EXPECT_EQ(after.parts_bytes, 70u);
}

}  // namespace
}  // namespace dllaunch
