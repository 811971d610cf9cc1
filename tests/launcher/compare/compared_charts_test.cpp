#include "launcher/compare/compared_charts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launcher/compare/compared_runs.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;

std::vector<std::string> titles_of(const std::vector<LineChart>& charts) {
  std::vector<std::string> titles;
  for (const auto& chart : charts) titles.push_back(chart.title);
  return titles;
}

TEST(ComparedCharts, HaveACurveARunOverEpochsAndOverTime) {
  const std::vector<ComparedRun> runs = {trained("a", 8, 4), trained("b", 16, 3)};
  const auto charts = compared_curves(runs);
  EXPECT_THAT(titles_of(charts),
              ElementsAre("Training loss over epochs", "Training loss over time",
                          "Validation loss over epochs", "Validation loss over time",
                          "Training accuracy over epochs", "Training accuracy over time",
                          "Validation accuracy over epochs", "Validation accuracy over time",
                          "Throughput over epochs", "Throughput over time"));
  EXPECT_EQ(charts[0].series[1].name, "b");
  EXPECT_EQ(charts[0].series[1].points[2].x, 3);
  EXPECT_EQ(charts[0].series[1].points[2].y, 2);
  EXPECT_EQ(charts[1].series[1].points[2].x, 30);
  EXPECT_EQ(charts[1].x.title, "seconds since the first start");
  const auto longer = compared_curves(std::vector{trained("a", 8, 60), trained("b", 16, 3)});
  EXPECT_EQ(longer[1].x.title, "minutes since the first start");
  EXPECT_EQ(longer[1].series[0].points.back().x, 10);
  EXPECT_FALSE(longer[1].series[0].marked) << "too many points for dots";
}

TEST(ComparedCharts, WithoutEpochsAreNone) {
  EXPECT_TRUE(compared_curves(std::vector{scaled("a"), scaled("b")}).empty());
  EXPECT_TRUE(compared_scaling(std::vector{trained("a", 8, 4)}).empty());
}

TEST(ComparedCharts, ASecondRoundOfColoursIsDashed) {
  const std::vector<ComparedRun> runs(16, trained("a", 8, 4));
  const auto charts = compared_curves(runs);
  EXPECT_FALSE(charts[0].series[7].dashed);
  EXPECT_TRUE(charts[0].series[8].dashed);
}

TEST(ComparedCharts, OfStudiesAreOverRanksAChartAUnit) {
  auto other = scaled("c");
  other.unit = "";
  const std::vector<ComparedRun> runs = {scaled("a"), scaled("b"), other, trained("d", 8, 4)};
  const auto charts = compared_scaling(runs);
  ASSERT_EQ(charts.size(), 3u);
  EXPECT_EQ(charts[0].y.title, "images/s");
  EXPECT_EQ(charts[0].series.size(), 2u);
  EXPECT_EQ(charts[0].series[0].points[2].y, 360);
  EXPECT_EQ(charts[0].series[0].points[2].low, 320);
  EXPECT_EQ(charts[1].y.title, "value");
  EXPECT_EQ(charts[2].series.size(), 3u);
  EXPECT_EQ(charts[2].series[0].points[0].y, 90);
}

}  // namespace
}  // namespace dllaunch
