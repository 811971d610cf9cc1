#include "support/counted.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace dllaunch {
namespace {

TEST(FourDecimals, AreShortForHugeNumbers) {
  EXPECT_EQ(four_decimals(0.41), "0.4100");
  EXPECT_EQ(four_decimals(-999999), "-999999.0000");
  EXPECT_EQ(four_decimals(1e6), "1e+06");
  EXPECT_EQ(four_decimals(std::exp(258.0)), "1.117e+112");
  EXPECT_EQ(four_decimals(std::numeric_limits<double>::infinity()), "inf");
}

TEST(Counted, OneIsSingular) {
  EXPECT_EQ(counted(1, "rank"), "1 rank");
  EXPECT_EQ(counted(0, "rank"), "0 ranks");
  EXPECT_EQ(counted(2, "process"), "2 processes");
  EXPECT_EQ(counted(1, "process"), "1 process");
  EXPECT_EQ(counted(2, "micro-batch"), "2 micro-batches");
  EXPECT_EQ(counted(2, "epoch"), "2 epochs");
}

}  // namespace
}  // namespace dllaunch
