#include "launcher/links/standing.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

PulledData data(std::size_t to, std::size_t from, double gbit, double us = 20) {
  return {.pull = {to, from}, .gbit_per_s = gbit, .us = us};
}

TEST(Standing, ScoresTheRateOrTheTimeWhateverIsWorse) {
  const UsualLink usual{10, 20};
  EXPECT_DOUBLE_EQ(score_of(data(0, 1, 10), usual), 1);
  EXPECT_DOUBLE_EQ(score_of(data(0, 1, 4), usual), 0.4);
  EXPECT_DOUBLE_EQ(score_of(data(0, 1, 10, 219), usual), 1) << "scheduling";
  EXPECT_DOUBLE_EQ(score_of(data(0, 1, 10, 2000), usual), 0.01);
  EXPECT_DOUBLE_EQ(score_of({.pull = {0, 1}, .why = "timed out"}, usual), 0);
  EXPECT_DOUBLE_EQ(score_of(data(0, 1, 10), {}), 1) << "nothing to compare with";
}

LinkSurvey three_hosts_of_which_one_is_slow() {
  LinkSurvey survey{.hosts = 3};
  for (const auto& [a, b] : {std::pair{0, 1}, {0, 2}, {1, 2}}) {
    const auto to = static_cast<std::size_t>(a);
    const auto from = static_cast<std::size_t>(b);
    const double gbit = b == 2 ? 2 : 10;
    survey.done.push_back({.order = {.pulls = {{to, from}, {from, to}}},
                           .pulled = {data(to, from, gbit), data(from, to, 10)}});
  }
  return survey;
}

TEST(Standing, SuspectsWhoIsConnectedByNoFastPair) {
  const auto standing = standing_of(three_hosts_of_which_one_is_slow());
  EXPECT_EQ(standing.main, (std::vector<std::size_t>{0, 1}));
  ASSERT_EQ(standing.suspicions.size(), 1u);
  EXPECT_EQ(standing.suspicions[0].a, (std::vector<std::size_t>{2}));
  EXPECT_DOUBLE_EQ(standing.in_rounds.gbit_per_s, 10);
  EXPECT_DOUBLE_EQ(standing.in_controls.gbit_per_s, 10) << "no controls yet";
}

DoneOrder draw(double slow, double control) {
  return {.order = {.round = false, .pulls = {{0, 2}, {1, 0}}, .controls_from = 1},
          .pulled = {data(0, 2, slow), data(1, 0, control)}};
}

TEST(Standing, TakesFiveSlowDrawsBesideQuietControls) {
  auto survey = three_hosts_of_which_one_is_slow();
  for (int i = 1; i <= 5; ++i) {
    survey.done.push_back(draw(2, 10));
    const auto evidence = evidence_on(survey, standing_of(survey), {0, 1}, {2});
    EXPECT_EQ(evidence.draws, i);
    EXPECT_EQ(evidence.proven(), i == 5);
    EXPECT_FALSE(evidence.refuted());
  }
  survey.done.push_back(draw(9, 10));
  EXPECT_TRUE(evidence_on(survey, standing_of(survey), {0, 1}, {2}).refuted());
}

/// What load does to the controls, it may do to what they are compared with.
TEST(Standing, TakesMoreDrawsBesideControlsThatAreDisturbed) {
  auto survey = three_hosts_of_which_one_is_slow();
  for (int i = 0; i < 5; ++i) survey.done.push_back(draw(2, i % 2 == 0 ? 10 : 1));
  const auto standing = standing_of(survey);
  EXPECT_DOUBLE_EQ(standing.in_controls.gbit_per_s, 10);
  EXPECT_EQ(standing.draws_for_slow, most_draws);
  EXPECT_TRUE(evidence_on(survey, standing, {0, 1}, {2}).open());
}

TEST(Standing, TwoFailuresAreEnough) {
  auto survey = three_hosts_of_which_one_is_slow();
  for (int i = 0; i < 2; ++i) {
    survey.done.push_back(draw(0, 10));
    survey.done.back().pulled[0].why = "timed out";
  }
  EXPECT_TRUE(evidence_on(survey, standing_of(survey), {0, 1}, {2}).proven());
}

}  // namespace
}  // namespace dllaunch
