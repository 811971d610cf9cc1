#include "launcher/study/study.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "launcher/report/rank_times.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

/// Values of 1, 2 and 4 ranks, twice each: rates that double by a factor.
Study rates(double factor) {
  Study study{.name = "a", .trains = true, .unit = "images/s"};
  for (const int ranks : {4, 2, 1}) {
    for (const int repeat : {1, 2}) {
      StudyRun run{.ranks = ranks, .nodes = 1, .repeat = repeat, .state = "completed"};
      run.value = 100 * std::pow(factor, std::log2(ranks)) * (repeat == 1 ? 0.99 : 1.01);
      run.epoch_s = 10;
      study.runs.push_back(run);
    }
  }
  return study;
}

TEST(Study, SpeedupAndEfficiencyAreOverTheSmallestSize) {
  const auto result = result_of(rates(1.8));
  ASSERT_EQ(result.points.size(), 3u);
  EXPECT_EQ(result.points[0].ranks, 1);
  EXPECT_EQ(result.points[2].repeats, 2);
  EXPECT_NEAR(result.points[1].speedup, 1.8, 1e-9);
  EXPECT_NEAR(result.points[2].efficiency, 1.8 * 1.8 / 4, 1e-9);
  EXPECT_NEAR(result.points[0].low, 99, 1e-9);
  EXPECT_NEAR(result.points[0].high, 101, 1e-9);
  ASSERT_EQ(result.predictions.size(), 3u);
  EXPECT_EQ(result.predictions[0].ranks, 8);
  EXPECT_LT(result.predictions[0].low, result.predictions[0].value);
  EXPECT_LT(result.predictions[2].efficiency, result.predictions[0].efficiency);
}

TEST(Study, WeakScalingComparesTheThroughputOfARank) {
  auto study = rates(1.9);
  study.scaling = Scaling::weak;
  const auto result = result_of(study);
  EXPECT_NEAR(result.points[1].efficiency, 0.95, 1e-9);
  EXPECT_NEAR(result.points[2].speedup, 1.9 * 1.9, 1e-9);
  ASSERT_TRUE(result.fit);
  EXPECT_EQ(result.fit->parallel, 0);
}

TEST(Study, WhatIsWorthItFillsWholeNodes) {
  auto study = rates(1.9);
  study.efficiency = 0.7;
  const auto one_node = result_of(study).worth_it;
  ASSERT_TRUE(one_node);
  for (auto& run : study.runs) run.nodes = run.ranks == 1 ? 1 : run.ranks / 2;
  const auto worth_it = result_of(study).worth_it;
  ASSERT_TRUE(worth_it);
  EXPECT_EQ(*worth_it % 2, 0);
  EXPECT_LE(*one_node - *worth_it, 1);
}

TEST(Study, ATimeIsBetterWhereItIsLower) {
  auto study = rates(1.8);
  for (auto& run : study.runs) run.value = 1 / *run.value;
  study.lower_is_better = true;
  const auto result = result_of(study);
  EXPECT_NEAR(result.points[1].speedup, 1.8, 0.01);
  EXPECT_LT(result.predictions[0].value, result.points[2].value);
}

TEST(Study, SaysWhatIsWorthIt) {
  const auto efficient = result_of(rates(2));
  EXPECT_FALSE(efficient.worth_it);
  EXPECT_EQ(advice_of(rates(2), efficient),
            "the efficiency stays at 80 % or more up to 256 ranks, as far as the fit goes");
  const auto study = rates(1.5);
  const auto result = result_of(study);
  ASSERT_TRUE(result.worth_it);
  EXPECT_EQ(advice_of(study, result), "no size above 1 rank keeps an efficiency of 80 %");
  const auto good = rates(1.9);
  EXPECT_THAT(
      advice_of(good, result_of(good)),
      testing::MatchesRegex("up to [0-9]+ ranks keep an efficiency of 80 %; beyond that the "
                            "same work costs more than 1.25 times the rank-hours of .*"));
  auto modest = study;
  modest.efficiency = 0.5;
  EXPECT_GT(result_of(modest).worth_it.value_or(1000), *result.worth_it);
}

TEST(Study, RunsWithoutAValueAreNamedAndLeftOut) {
  auto study = rates(1.8);
  study.runs[0].value = std::nan("");
  study.runs[1].value.reset();
  study.runs[1].reason = "failed: rank 0 exited with code 1";
  const auto result = result_of(study);
  EXPECT_EQ(result.points.size(), 2u);
  EXPECT_THAT(render_study(study, result), HasSubstr("4 ranks, repeat 2: failed: rank 0 exited"));
  EXPECT_TRUE(result_of(Study()).points.empty());
  EXPECT_EQ(advice_of(Study(), result_of(Study())), "");
  EXPECT_EQ(to_json(Study(), result_of(Study()))["fit"], Json());
}

TEST(Study, JsonHasTheContractsNamesAndIsReadBack) {
  auto study = rates(1.8);
  for (auto& run : study.runs) run.parts.assign(rank_parts.size(), 0.5);
  const auto json = to_json(study, result_of(study));
  for (const char* key : {"points", "fit", "predictions"}) EXPECT_TRUE(json.contains(key)) << key;
  for (const char* key :
       {"ranks", "nodes", "images_per_s", "spread", "epoch_s", "speedup", "efficiency", "parts"})
    EXPECT_TRUE(json["points"][0].contains(key)) << key;
  for (const char* key : {"ranks", "low", "high"})
    EXPECT_TRUE(json["predictions"][0].contains(key)) << key;
  EXPECT_EQ(json["points"][0]["parts"]["forward"], 0.5);
  EXPECT_EQ(json["fit"]["exchange_from"], "times");
  const auto again = read_study(Json::parse(json.dump()));
  ASSERT_EQ(again.runs.size(), study.runs.size());
  EXPECT_EQ(again.name, "a");
  EXPECT_EQ(again.runs[3].value, study.runs[3].value);
  EXPECT_EQ(again.runs[3].parts, study.runs[3].parts);
}

TEST(Study, DamagedRecordsAreReadAsFarAsTheyGo) {
  for (const char* text : {"{}", "[]", "null", R"({"runs": 7})", R"({"runs": [7, null]})",
                           R"({"runs": [{"ranks": -1, "value": "x", "parts": [null]}]})"}) {
    const auto study = read_study(Json::parse(text));
    for (const auto& run : study.runs) EXPECT_GE(run.ranks, 1) << text;
  }
}

TEST(Study, TableAndCsv) {
  auto study = rates(1.8);
  const auto result = result_of(study);
  EXPECT_THAT(render_study(study, result),
              testing::MatchesRegex("ranks  nodes  images/s  least .. most  epoch, s  speed-up  "
                                    "efficiency\n1      1      100 .*predicted\n.*"));
  const auto csv = study_csv(study, result);
  EXPECT_THAT(csv,
              HasSubstr("ranks,nodes,repeats,images_per_s,low,high,epoch_s,speedup,efficiency"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 4);
  EXPECT_THAT(csv, HasSubstr(",NA"));
}

}  // namespace
}  // namespace dllaunch
