#include "launcher/drawing/line_chart.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

LineChart loss_chart() {
  return {.title = "Loss",
          .x = {.title = "step"},
          .y = {.title = "loss", .logarithmic = true},
          .series = {{.name = "training", .points = {{1, 4}, {2, 2}, {3, 1}}},
                     {.name = "validation", .points = {{1, 5}, {3, 2}}, .marked = true}},
          .flags = {{.x = 2, .text = "a restart"}}};
}

TEST(LineChart, HasTitlesUnitsLegendAndTicks) {
  const auto drawing = draw(loss_chart());
  for (const char* part : {">step</text>", ">loss</text>", ">training</text>", ">validation</text>",
                           "<title>Loss</title>", "<title>a restart</title>", ">5</text>"})
    EXPECT_THAT(drawing, HasSubstr(part));
  EXPECT_THAT(numbers_of(loss_chart()),
              HasSubstr("<td class=n>2</td><td class=n>2</td><td class=n></td>"));
}

TEST(LineChart, InterruptsACurveWhereANumberIsMissing) {
  auto chart = loss_chart();
  chart.series = {{.points = {{1, 1}, {2, 2}, {3, std::nan("")}, {4, 3}, {5, 4}}}};
  const auto drawing = draw(chart);
  std::size_t curves = 0;
  for (auto at = drawing.find("class=\"curve\" d=\"M"); at != std::string::npos;
       at = drawing.find("class=\"curve\" d=\"M", at + 1))
    ++curves;
  EXPECT_EQ(curves, 3u) << "two parts, and the flag";
  EXPECT_THAT(drawing, Not(HasSubstr("nan")));
  EXPECT_FALSE(has_points({.series = {{.points = {{1, std::nan("")}, {2, 1}}}}}));
  EXPECT_TRUE(has_points({.series = {{.points = {{2, 1}}, .marked = true}}}));
}

TEST(LineChart, AnAxisOfEpochsHasWholeNumbers) {
  LineChart chart{.x = {.title = "epoch", .whole = true},
                  .y = {.title = "y"},
                  .series = {{.points = {{1, 5}}, .marked = true}}};
  EXPECT_THAT(draw(chart), Not(HasSubstr(">0.8</text>")));
  EXPECT_THAT(draw(chart), HasSubstr(">2</text>"));
}

/// A letter is 6.7 wide.
TEST(LineChart, TheAxisLeavesRoomForItsLabels) {
  auto chart = loss_chart();
  for (auto& series : chart.series)
    for (auto& point : series.points) point.y *= 1e7;
  const auto drawing = draw(chart);
  EXPECT_THAT(drawing, HasSubstr("50,000,000</text>"));
  EXPECT_THAT(drawing, HasSubstr("d=\"M79 ")) << "where the axis of x begins";
}

TEST(LineChart, ALogarithmicAxisIsLinearWhereANumberIsNot) {
  auto chart = loss_chart();
  chart.series[0].points[1].y = 0;
  EXPECT_THAT(draw(chart), HasSubstr(">0</text>"));
}

/// Each column of the picture keeps its extremes: a spike of one step among a million stays.
TEST(LineChart, AMillionPointsAreFewAndKeepTheirExtremes) {
  LineChart chart{.x = {.title = "x"}, .y = {.title = "y"}, .series = {{}}};
  for (int i = 0; i < 1'000'000; ++i)
    chart.series[0].points.push_back({static_cast<double>(i), i == 500'000 ? 100.0 : 1.0});
  const auto drawing = draw(chart);
  EXPECT_LT(drawing.size(), 40'000u);
  EXPECT_THAT(drawing, HasSubstr(" 28L")) << "the spike reaches the top";
  const auto numbers = numbers_of(chart);
  EXPECT_THAT(numbers, HasSubstr("200 of 1000000 rows, evenly spaced."));
  EXPECT_THAT(numbers, HasSubstr("<td class=n>999,999</td>"));
}

TEST(LineChart, ErrorBarsStandInPictureAndTable) {
  LineChart chart{
      .x = {.title = "ranks", .at = {1, 2, 4}},
      .y = {.title = "images/s"},
      .series = {{.points = {{1, 10, 9, 11}, {2, 19, 17, 21}, {4, 36, 30, 42}}, .marked = true}}};
  EXPECT_THAT(numbers_of(chart), HasSubstr("19 (17 to 21)"));
  const auto bars = draw(chart);
  EXPECT_THAT(bars, HasSubstr("<circle"));
  EXPECT_THAT(bars, HasSubstr(">4</text>"));
  chart.series[0].marked = false;
  EXPECT_THAT(draw(chart), HasSubstr("class=\"band\""));
}

}  // namespace
}  // namespace dllaunch
