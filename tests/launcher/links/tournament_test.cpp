#include "launcher/links/tournament.hpp"

#include <gtest/gtest.h>

#include <set>

namespace dllaunch {
namespace {

TEST(Tournament, NoHostIsInTwoPairsOfARound) {
  for (std::size_t hosts = 0; hosts <= 70; ++hosts) {
    for (const auto& round : tournament_rounds(hosts)) {
      EXPECT_TRUE(round.round);
      std::set<std::size_t> takers;
      std::set<std::size_t> givers;
      for (const auto& pull : round.pulls) {
        EXPECT_LT(pull.to, hosts);
        EXPECT_LT(pull.from, hosts);
        EXPECT_NE(pull.to, pull.from);
        EXPECT_TRUE(takers.insert(pull.to).second && givers.insert(pull.from).second) << hosts;
      }
      EXPECT_EQ(takers, givers) << "both ways";
      EXPECT_GE(takers.size() + 1, hosts) << "at most one is idle";
    }
  }
}

TEST(Tournament, MeasuresEveryPairOfFewHosts) {
  for (std::size_t hosts = 2; hosts <= most_hosts_for_all_pairs; ++hosts) {
    std::set<Pull> links;
    for (const auto& round : tournament_rounds(hosts))
      links.insert(round.pulls.begin(), round.pulls.end());
    EXPECT_EQ(links.size(), hosts * (hosts - 1)) << hosts;
  }
}

TEST(Tournament, OfManyTakesTheirLogarithm) {
  EXPECT_TRUE(tournament_rounds(0).empty());
  EXPECT_TRUE(tournament_rounds(1).empty());
  EXPECT_EQ(tournament_rounds(2).size(), fewest_rounds);
  EXPECT_EQ(tournament_rounds(8).size(), 7u);
  EXPECT_EQ(tournament_rounds(17).size(), 5u);
  EXPECT_EQ(tournament_rounds(64).size(), 6u);
  EXPECT_EQ(tournament_rounds(1000).size(), 10u);
}

/// Hosts that are next to each other in the list are joined within their half by all rounds but
/// one.
TEST(Tournament, EachRoundHalvesTheHostsAnotherWay) {
  const auto rounds = tournament_rounds(64);
  for (std::size_t bit = 0; bit < rounds.size(); ++bit)
    for (const auto& pull : rounds[bit].pulls)
      EXPECT_EQ(pull.to ^ pull.from, std::size_t{1} << bit);
}

}  // namespace
}  // namespace dllaunch
