#include "launcher/drawing/svg.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(Svg, TextIsCutAtCharacters) {
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("abcdefg", 6), "abcd..");
  EXPECT_EQ(shortened("ééééé", 4), "éé..");
  EXPECT_EQ(shortened("\xff\xff\xff\xff", 3), "\xff..");
}

TEST(Svg, HasItsTitleAndSize) {
  EXPECT_EQ(
      svg_drawing("chart", 100.04, "a<b", "x"),
      R"(<svg class="chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 480 100" role="img">)"
      "<title>a&lt;b</title>\nx</svg>\n");
  EXPECT_EQ(svg_text(1, 2.5, "end", "<"), R"(<text x="1" y="2.5" text-anchor="end">&lt;</text>)");
  EXPECT_EQ(svg_box("c0", 1, 2, 3, 4), R"(<path class="c0" d="M1 2h3v4h-3z"/>)");
}

}  // namespace
}  // namespace dllaunch
