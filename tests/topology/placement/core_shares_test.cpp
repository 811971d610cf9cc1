#include "topology/placement/core_shares.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/topology/discovery/damage.hpp"

namespace dllaunch {
namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

// Units in L3s of these sizes, all on one NUMA node.
std::vector<ShareUnit> in_l3s(const std::vector<int>& sizes) {
  std::vector<ShareUnit> units;
  for (int l3 = 0; l3 < std::ssize(sizes); ++l3)
    for (int i = 0; i < sizes[at(l3)]; ++i) {
      const auto core = static_cast<int>(units.size());
      units.push_back({.core = core, .cpus = {core}, .numa = 0, .l3 = l3});
    }
  return units;
}

std::vector<int> first(int count) {
  std::vector<int> units(at(count));
  std::iota(units.begin(), units.end(), 0);
  return units;
}

std::vector<std::size_t> sizes(const std::vector<std::vector<int>>& shares) {
  std::vector<std::size_t> out;
  out.reserve(shares.size());
  for (const auto& share : shares) out.push_back(share.size());
  return out;
}

std::vector<std::vector<int>> divide(const std::vector<int>& l3s, int ranks,
                                     Borders borders = Borders::numa_and_l3) {
  const auto units = in_l3s(l3s);
  return divide_units(units, {{first(static_cast<int>(units.size())), ranks}}, borders)[0];
}

int borders_inside(const std::vector<ShareUnit>& units,
                   const std::vector<std::vector<int>>& shares) {
  int count = 0;
  for (const auto& share : shares)
    for (std::size_t i = 1; i < share.size(); ++i)
      if (units[at(share[i])].l3 != units[at(share[i - 1])].l3) ++count;
  return count;
}

// The fewest borders of any even division into adjacent units, by brute force.
int fewest_borders(const std::vector<ShareUnit>& units, int ranks) {
  const int count = static_cast<int>(units.size());
  int best = count;
  std::function<void(int, int, int, int)> walk = [&](int rank, int from, int extras, int inside) {
    if (rank == ranks) {
      if (from == count) best = std::min(best, inside);
      return;
    }
    for (const int more : {0, 1}) {
      if (more > extras) break;
      const int to = from + count / ranks + more;
      if (to > count) break;
      int here = inside;
      for (int i = from + 1; i < to; ++i)
        if (units[at(i)].l3 != units[at(i - 1)].l3) ++here;
      walk(rank + 1, to, extras - more, here);
    }
  };
  walk(0, 0, count % ranks, 0);
  return best;
}

TEST(CoreShares, DifferByAtMostOne) {
  EXPECT_EQ(sizes(divide({14}, 4)), (std::vector<std::size_t>{4, 4, 3, 3}));
  EXPECT_EQ(sizes(divide({52}, 3)), (std::vector<std::size_t>{18, 17, 17}));
}

TEST(CoreShares, KeepL3BordersWhereThatAllows) {
  EXPECT_EQ(sizes(divide({7, 7}, 4)), (std::vector<std::size_t>{4, 3, 4, 3}));
  EXPECT_EQ(sizes(divide({8, 8}, 6)), (std::vector<std::size_t>{3, 3, 2, 3, 3, 2}));
  EXPECT_EQ(sizes(divide({5, 4, 5}, 3)), (std::vector<std::size_t>{5, 4, 5}));
  EXPECT_EQ(sizes(divide({4, 5, 5}, 3)), (std::vector<std::size_t>{4, 5, 5}));
}

TEST(CoreShares, IgnoreL3BordersWhereAsked) {
  EXPECT_EQ(sizes(divide({4, 5, 5}, 3, Borders::numa)), (std::vector<std::size_t>{5, 5, 4}));
}

TEST(CoreShares, AreAsGoodAsTryingAllDivisions) {
  Random random(11);
  for (int round = 0; round < 2000; ++round) {
    std::vector<int> l3s;
    for (int i = 1 + random.below(4); i > 0; --i) l3s.push_back(1 + random.below(5));
    const auto units = in_l3s(l3s);
    const int ranks = 1 + random.below(static_cast<int>(units.size()));
    const auto shares = divide(l3s, ranks);
    SCOPED_TRACE("seed 11, round " + std::to_string(round));
    ASSERT_EQ(borders_inside(units, shares), fewest_borders(units, ranks));
    std::vector<int> all;
    for (const auto& share : shares) all.insert(all.end(), share.begin(), share.end());
    ASSERT_EQ(all, first(static_cast<int>(units.size())));
  }
}

TEST(CoreShares, MoreRanksThanUnitsShareWithNeighbours) {
  EXPECT_EQ(divide({2}, 4), (std::vector<std::vector<int>>{{0}, {0}, {1}, {1}}));
  EXPECT_EQ(divide({1}, 3), (std::vector<std::vector<int>>{{0}, {0}, {0}}));
}

TEST(CoreShares, ANarrowClaimIsServedBeforeAWideOneIsRich) {
  const auto units = in_l3s({8, 8, 8, 8});
  const std::vector<int> all = first(32);
  // Three claims on one L3 each and one on everything, which gets the L3 that no other can use.
  const std::vector<ShareClaim> claims{{{0, 1, 2, 3, 4, 5, 6, 7}, 1},
                                       {{8, 9, 10, 11, 12, 13, 14, 15}, 1},
                                       {{16, 17, 18, 19, 20, 21, 22, 23}, 1},
                                       {all, 1}};
  const auto shares = divide_units(units, claims, Borders::numa_and_l3);
  EXPECT_EQ(shares[3][0], (std::vector{24, 25, 26, 27, 28, 29, 30, 31}));
  EXPECT_EQ(shares[0][0].size(), 8u);
}

TEST(CoreShares, NoRankSharesIfAnArrangementWithoutSharingExists) {
  // {0,1} x2 | {1,2} x1 | {2,3,4} x2: only a chain of moves seats all five.
  const std::vector<ShareClaim> claims{{{0, 1}, 2}, {{1, 2}, 1}, {{2, 3, 4}, 2}};
  EXPECT_TRUE(crowded_claims(claims).empty());
  EXPECT_EQ(crowded_claims({{{0, 1}, 2}, {{1, 2}, 2}, {{0, 2}, 2}}), (std::vector{0, 1, 2}));
}

TEST(CoreShares, CrowdedClaimsExcludeThoseThatNeedNoneOfTheirUnits) {
  EXPECT_EQ(crowded_claims({{first(8), 2}, {{0}, 3}}), std::vector{1});
  EXPECT_EQ(crowded_claims({{{0, 1}, 2}, {{0}, 1}, {{2, 3}, 1}}), (std::vector{0, 1}));
}

// Independent check: can each rank get its own unit? (Kuhn's matching.)
bool all_seated(const std::vector<ShareClaim>& claims, int units) {
  std::vector<int> holder(at(units), -1);
  std::vector<std::pair<int, int>> ranks;
  for (int c = 0; c < std::ssize(claims); ++c)
    for (int r = 0; r < claims[at(c)].ranks; ++r) ranks.emplace_back(c, r);
  for (int rank = 0; rank < std::ssize(ranks); ++rank) {
    std::vector<bool> tried(at(units), false);
    std::function<bool(int)> seat = [&](int who) {
      for (const int unit : claims[at(ranks[at(who)].first)].units) {
        if (tried[at(unit)]) continue;
        tried[at(unit)] = true;
        if (holder[at(unit)] < 0 || seat(holder[at(unit)])) {
          holder[at(unit)] = who;
          return true;
        }
      }
      return false;
    };
    if (!seat(rank)) return false;
  }
  return true;
}

TEST(CoreShares, AgreeWithAMatchingOnRandomClaims) {
  Random random(12);
  int full = 0;
  for (int round = 0; round < 3000; ++round) {
    SCOPED_TRACE("seed 12, round " + std::to_string(round));
    const int count = 1 + random.below(10);
    const auto units = in_l3s({count});
    std::vector<ShareClaim> claims;
    for (int c = 1 + random.below(5); c > 0; --c) {
      ShareClaim claim{.units = {}, .ranks = 1 + random.below(3)};
      for (int u = 0; u < count; ++u)
        if (random.one_in(2)) claim.units.push_back(u);
      if (claim.units.empty()) claim.units.push_back(random.below(count));
      claims.push_back(claim);
    }
    const bool fits = all_seated(claims, count);
    full += fits ? 1 : 0;
    ASSERT_EQ(crowded_claims(claims).empty(), fits);

    const auto shares = divide_units(units, claims, Borders::numa_and_l3);
    std::vector<int> uses(at(count), 0);
    for (std::size_t c = 0; c < claims.size(); ++c) {
      const auto [least, most] =
          std::minmax_element(shares[c].begin(), shares[c].end(),
                              [](const auto& a, const auto& b) { return a.size() < b.size(); });
      ASSERT_LE(most->size() - least->size(), 1u);
      for (const auto& share : shares[c]) {
        ASSERT_FALSE(share.empty());
        for (const int u : share) {
          ++uses[at(u)];
          ASSERT_TRUE(std::binary_search(claims[c].units.begin(), claims[c].units.end(), u));
        }
      }
    }
    if (fits) {
      ASSERT_LE(*std::max_element(uses.begin(), uses.end()), 1);
    }
  }
  EXPECT_GT(full, 300);
}

TEST(CoreShares, ChooseNeighboursInsideOneL3) {
  const auto units = in_l3s({2, 4});
  EXPECT_EQ(closest_units(units, first(6), 3), (std::vector{2, 3, 4}));
  EXPECT_EQ(closest_units(units, first(6), 1), (std::vector{0}));
  EXPECT_EQ(closest_units(units, first(6), 9), first(6));
}

TEST(CoreShares, OrCoresFarApart) {
  EXPECT_EQ(spread_units(first(8), 2), (std::vector{0, 4}));
  EXPECT_EQ(spread_units(first(7), 3), (std::vector{0, 2, 4}));
  EXPECT_EQ(spread_units(first(3), 9), first(3));
}

}  // namespace
}  // namespace dllaunch
