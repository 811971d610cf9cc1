// Dividing the cores of a node between ranks that may each use only some of them.
#pragma once

#include <vector>

#include "support/id_set.hpp"

namespace dllaunch {

/// What is handed out whole: the usable hardware threads of a core, or one of them.
struct ShareUnit {
  int core = 0;  // units of one core are neighbours
  IdSet cpus = {};
  int numa = -1;
  int l3 = -1;
};

/// Ranks that may use the same units.
struct ShareClaim {
  std::vector<int> units = {};  // positions, ascending
  int ranks = 1;
};

/// For each claim, for each of its ranks, the positions of its units; no rank gets none.
using Shares = std::vector<std::vector<std::vector<int>>>;

enum class Borders { numa, numa_and_l3 };

/// Max-min fair, each unit given once: no rank can get more without taking from one that has less.
/// Ranks of one claim get neighbouring units, differ by at most one, and keep the asked borders
/// whole where that allows it. Only where the units of some claims are fewer than their ranks do
/// these ranks share units. Every claim has at least one unit and one rank.
Shares divide_units(const std::vector<ShareUnit>& units, const std::vector<ShareClaim>& claims,
                    Borders borders);

/// Positions of the claims that together have more ranks than units, so that divide_units() makes
/// ranks share; ascending. The claims not listed need none of their units.
std::vector<int> crowded_claims(const std::vector<ShareClaim>& claims);

/// `count` of `units`: neighbours with as few borders among them as possible.
std::vector<int> closest_units(const std::vector<ShareUnit>& all, const std::vector<int>& units,
                               int count);

/// `count` of `units`, as far apart as they allow.
std::vector<int> spread_units(const std::vector<int>& units, int count);

}  // namespace dllaunch
