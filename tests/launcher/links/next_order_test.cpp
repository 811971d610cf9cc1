#include "launcher/links/next_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "launcher/links/tournament.hpp"

namespace dllaunch {
namespace {

/// All rounds of 8 hosts, of which host 5 sends slowly.
LinkSurvey after_the_rounds(std::set<std::size_t> silent = {}) {
  LinkSurvey survey{.hosts = 8, .done = {}, .silent = std::move(silent)};
  while (survey.done.size() < tournament_rounds(8).size()) {
    const auto order = next_order(survey, standing_of(survey));
    EXPECT_TRUE(order && order->round);
    DoneOrder done{.order = *order};
    for (const auto& pull : order->pulls) {
      EXPECT_FALSE(survey.silent.contains(pull.to) || survey.silent.contains(pull.from));
      done.pulled.push_back({.pull = pull, .gbit_per_s = pull.from == 5 ? 2.0 : 10, .us = 20});
    }
    survey.done.push_back(std::move(done));
  }
  return survey;
}

TEST(NextOrder, AfterTheRoundsMeasuresTheSuspectBesideOthers) {
  const auto survey = after_the_rounds();
  const auto standing = standing_of(survey);
  const auto order = next_order(survey, standing);
  ASSERT_TRUE(order);
  EXPECT_FALSE(order->round);
  ASSERT_EQ(order->controls_from, 1u);
  EXPECT_EQ(order->pulls[0].from, 5u);
  EXPECT_EQ(order->pulls.size(), 3u) << "two controls";
  std::set<std::size_t> busy;
  for (const auto& pull : order->pulls)
    EXPECT_TRUE(busy.insert(pull.to).second && busy.insert(pull.from).second);
}

TEST(NextOrder, AsksNothingOfWhoIsSilent) {
  const auto survey = after_the_rounds({3});
  for (int i = 0; i < 20; ++i)
    for (const auto& pull : next_order(survey, standing_of(survey))->pulls)
      EXPECT_TRUE(pull.to != 3 && pull.from != 3);
}

TEST(NextOrder, TakesTurnsAmongPartnersAndDirections) {
  auto survey = after_the_rounds();
  std::set<std::size_t> partners;
  int sends = 0;
  while (const auto order = next_order(survey, standing_of(survey))) {
    ASSERT_LT(survey.done.size(), 40u);
    DoneOrder done{.order = *order};
    for (const auto& pull : order->pulls)
      done.pulled.push_back({.pull = pull, .gbit_per_s = pull.from == 5 ? 2.0 : 10, .us = 20});
    const auto& first = order->pulls[0];
    if (first.from == 5) {
      ++sends;
      partners.insert(first.to);
    }
    survey.done.push_back(std::move(done));
  }
  EXPECT_GE(sends, fewest_draws);
  EXPECT_GE(partners.size(), 4u);
  const auto standing = standing_of(survey);
  ASSERT_EQ(standing.suspicions.size(), 1u);
  EXPECT_FALSE(is_open(survey, standing, standing.suspicions[0]));
}

TEST(NextOrder, OfOneHostOrNoneThereIsNone) {
  for (const std::size_t hosts : {0, 1}) {
    const LinkSurvey survey{.hosts = hosts};
    EXPECT_FALSE(next_order(survey, standing_of(survey)));
  }
}

}  // namespace
}  // namespace dllaunch
