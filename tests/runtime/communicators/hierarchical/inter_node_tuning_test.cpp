#include "runtime/communicators/hierarchical/inter_node_tuning.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace dllaunch {
namespace {

TEST(InterNodeTuning, WholeUpToWherePartsAreFaster) {
  const std::vector<WayTimes> times = {
      {1024, 10, 20}, {2048, 19, 21}, {4096, 30, 25}, {8192, 1, 9}};
  EXPECT_EQ(choose_whole_bytes(times), 2048u) << "not beyond, whatever follows";
}

TEST(InterNodeTuning, IgnoresDifferencesBelowATenth) {
  EXPECT_EQ(choose_whole_bytes(std::vector<WayTimes>{{1024, 10.9, 10}}), 1024u);
  EXPECT_EQ(choose_whole_bytes(std::vector<WayTimes>{{1024, 11.5, 10}}), 0u);
}

TEST(InterNodeTuning, WithoutMeasurementsNothingGoesWhole) {
  EXPECT_EQ(choose_whole_bytes({}), 0u);
}

}  // namespace
}  // namespace dllaunch
