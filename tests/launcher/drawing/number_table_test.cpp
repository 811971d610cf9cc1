#include "launcher/drawing/number_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(NumberTable, NumbersStandOnTheRight) {
  EXPECT_EQ(html_table({"a", "<b>"}, {{"1,250", "x"}, {"-0.5", "7 %"}}),
            "<table><thead><tr><th>a</th><th>&lt;b&gt;</th></tr></thead><tbody>\n"
            "<tr><td class=n>1,250</td><td>x</td></tr>\n"
            "<tr><td class=n>-0.5</td><td class=n>7 %</td></tr>\n</tbody></table>");
  EXPECT_THAT(folded("numbers", "<p>x</p>"), testing::HasSubstr("<summary>numbers</summary>"));
}

}  // namespace
}  // namespace dllaunch
