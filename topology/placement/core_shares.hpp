// Divides the cores of a node between ranks that may each use only some of them.
#pragma once

#include <vector>

#include "support/id_set.hpp"

namespace dllaunch {

/// The unit of division: the usable hardware threads of a core, or one of them.
struct ShareUnit {
  int core = 0;  // units of one core are adjacent
  IdSet cpus = {};
  int numa = -1;
  int l3 = -1;
};

/// Ranks that may use the same units.
struct ShareClaim {
  std::vector<int> units = {};  // positions, ascending
  int ranks = 1;
};

/// shares[claim][rank] holds the positions of the rank's units; never empty.
using Shares = std::vector<std::vector<std::vector<int>>>;

enum class Borders { numa, numa_and_l3 };

/// Returns a max-min fair division that gives each unit once: no rank can get more without taking
/// from one that has less. Ranks of one claim get adjacent units, differ by at most one unit, and
/// keep `borders` intact where that allows it. Ranks share units only where some claims together
/// have fewer units than ranks. Every claim has at least one unit and one rank.
Shares divide_units(const std::vector<ShareUnit>& units, const std::vector<ShareClaim>& claims,
                    Borders borders);

/// Returns the positions of the claims that together have more ranks than units, ascending:
/// divide_units() makes their ranks share. The other claims need none of these units.
std::vector<int> crowded_claims(const std::vector<ShareClaim>& claims);

/// Returns `count` of `units`: adjacent ones with as few borders between them as possible.
std::vector<int> closest_units(const std::vector<ShareUnit>& all, const std::vector<int>& units,
                               int count);

/// Returns `count` of `units`, as far apart as possible.
std::vector<int> spread_units(const std::vector<int>& units, int count);

}  // namespace dllaunch
