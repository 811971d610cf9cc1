#include "launcher/drawing/time_bars.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dllaunch {
namespace {

using testing::HasSubstr;

TEST(TimeBars, ChooseTheirUnitAndCutLongWords) {
  TimeBars bars{.title = "starts", .kinds = {"training", "lost"}};
  bars.rows = {{.label = "start 1",
                .text = std::string(200, 'x'),
                .parts = {{.from_s = 0, .to_s = 7200, .kind = 0},
                          {.from_s = 7200, .to_s = 20'000, .kind = 1}}}};
  const auto drawing = draw(bars);
  EXPECT_THAT(drawing, HasSubstr("time since the start, h"));
  EXPECT_THAT(drawing, HasSubstr("xx..</text>"));
  EXPECT_THAT(numbers_of(bars), HasSubstr("<td class=n>20000.0</td>"));
  EXPECT_EQ(draw(TimeBars{}), "");
}

}  // namespace
}  // namespace dllaunch
