#include "launcher/base/shown_line.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(ShownLine, ColoursGoAndRubbishIsSpelled) {
  EXPECT_EQ(shown_line("\x1b[1;31merror\x1b[0m: x"), "error: x");
  EXPECT_EQ(shown_line("\x1b]0;title\a text"), " text");
  EXPECT_EQ(shown_line("\x1b[2K\x1b[1Gbar"), "bar");
  EXPECT_EQ(shown_line("a\tb \xc3\xa4"), "a\tb \xc3\xa4");
  EXPECT_EQ(shown_line("\x1b["), "\\x1b[");
  EXPECT_EQ(shown_line("a\u202eb\u009b"), "a\\u202eb\\u009b");
  EXPECT_EQ(shown_line("\xff\x07"), "\\xff\\x07");
}

}  // namespace
}  // namespace dllaunch
