#include "support/counted.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(Counted, OneIsSingular) {
  EXPECT_EQ(counted(1, "rank"), "1 rank");
  EXPECT_EQ(counted(0, "rank"), "0 ranks");
  EXPECT_EQ(counted(2, "process"), "2 processes");
  EXPECT_EQ(counted(1, "process"), "1 process");
}

}  // namespace
}  // namespace dllaunch
