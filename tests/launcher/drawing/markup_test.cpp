#include "launcher/drawing/markup.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace dllaunch {
namespace {

TEST(Markup, ForeignTextIsText) {
  EXPECT_EQ(markup("<a b='1'>\"&\x07\xff"), "&lt;a b=&#39;1&#39;&gt;&quot;&amp;\\x07\\xff");
  EXPECT_EQ(element("b", "", "x"), "<b>x</b>");
  EXPECT_EQ(element("td", "class=n", "1"), "<td class=n>1</td>");
}

TEST(Markup, CoordinatesAreShort) {
  EXPECT_EQ(coordinate(1), "1");
  EXPECT_EQ(coordinate(-0.01), "0");
  EXPECT_EQ(coordinate(12.3456), "12.3");
  EXPECT_EQ(coordinate(std::nan("")), "0");
  EXPECT_EQ(markup_lines("a<b\nc\n"), "a&lt;b\nc\n");
}

}  // namespace
}  // namespace dllaunch
