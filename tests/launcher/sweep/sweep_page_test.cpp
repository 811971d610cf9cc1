#include "launcher/sweep/sweep_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<Parameter> some_space() {
  return *read_space({.parameters = Json::parse(
                          R"({"train.lr": {"log": [0.001, 0.1]}, "n": {"int": [1, 1000]},
                              "batch": {"choice": [16, 512]}, "<k>": {"choice": ["<v>", "w"]}})")});
}

Sweep some_sweep(int many) {
  Sweep sweep{.name = "<b>a</b>", .metric = "val<acc>", .most_trials = many};
  for (int i = 0; i < many; ++i) {
    Trial trial{.number = i, .state = TrialState::completed, .run = "trial-" + std::to_string(i)};
    trial.parameters = {{"train.lr", 0.1 / (i + 1)},
                        {"n", 1 + i * 10},
                        {"batch", i % 2 == 0 ? 16 : 512},
                        {"<k>", i % 2 == 0 ? "<v>" : "w"}};
    trial.values = {{1, 0.1 * (i % 7)}, {3, 0.12 * (i % 7)}};
    sweep.trials.push_back(std::move(trial));
  }
  return sweep;
}

TEST(SweepPage, ShowsTheBestItsCurvesAndEveryParameter) {
  auto sweep = some_sweep(9);
  sweep.trials[2].state = TrialState::failed;
  sweep.trials[2].reason = "failed: <script>";
  const auto page = html_page(sweep_page(sweep, some_space(), "/sweeps/a"));
  for (const char* part :
       {"&lt;b&gt;a&lt;/b&gt;: sweep", "val&lt;acc&gt;", "best so far", "trial 6",
        ">train.lr</text>", "&lt;v&gt;", "failed: &lt;script&gt;", "/sweeps/a", ">epochs</text>"})
    EXPECT_THAT(page, HasSubstr(part));
  for (const char* part : {"<script", "<b>a", "nan"}) EXPECT_THAT(page, Not(HasSubstr(part)));
}

TEST(SweepPage, OfNothingIsAPage) {
  EXPECT_THAT(html_page(sweep_page({.name = "a"}, {}, "/a")),
              HasSubstr("No trial has a value yet."));
}

TEST(SweepPage, OfThousandsOfTrialsIsBounded) {
  const auto page = html_page(sweep_page(some_sweep(5000), some_space(), "/a"));
  EXPECT_LT(page.size(), 2U << 20);
  EXPECT_THAT(page, HasSubstr("The best 1000 of 5000"));
}

TEST(SweepCharts, OnlyALogRangeHasALogarithmicAxis) {
  for (const auto& chart : parameter_charts(some_sweep(9), some_space())) {
    EXPECT_EQ(chart.x.logarithmic, chart.title == "train.lr") << chart.title;
    EXPECT_EQ(chart.x.whole, chart.title == "n") << chart.title;
    EXPECT_NE(chart.title, "<k>") << "no number";
  }
  EXPECT_EQ(parameter_charts(some_sweep(9), some_space()).size(), 3U);
}

TEST(SweepCharts, BestSoFarOnlyRises) {
  const auto chart = trials_chart(some_sweep(20));
  ASSERT_EQ(chart.series.size(), 2U);
  for (std::size_t i = 1; i < chart.series[1].points.size(); ++i)
    EXPECT_GE(chart.series[1].points[i].y, chart.series[1].points[i - 1].y);
  EXPECT_FALSE(chart.series[0].joined);
}

}  // namespace
}  // namespace dllaunch
