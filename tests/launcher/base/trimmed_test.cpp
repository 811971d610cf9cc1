#include "launcher/base/trimmed.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(Trimmed, BlanksInsideStay) {
  EXPECT_EQ(trimmed(" \ta b\r"), "a b");
  EXPECT_EQ(trimmed(" \t"), "");
  EXPECT_EQ(trimmed(""), "");
}

}  // namespace
}  // namespace dllaunch
