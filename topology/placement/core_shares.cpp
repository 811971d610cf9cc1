#include "topology/placement/core_shares.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "support/position.hpp"

namespace dllaunch {
namespace {

// The cost of putting adjacent units `left` and `right` into one share.
int border_weight(const ShareUnit& left, const ShareUnit& right, Borders borders) {
  constexpr int numa_weight = 64;  // more than the L3s of a NUMA node
  if (left.numa != right.numa) return numa_weight;
  return borders == Borders::numa_and_l3 && left.l3 != right.l3 ? 1 : 0;
}

// Units that the same claims may use; interchangeable while claims are balanced.
struct Atom {
  std::vector<int> units;
  std::vector<int> claims;  // that may use them
  int free = 0;
};

std::vector<Atom> atoms_of(const std::vector<ShareClaim>& claims) {
  std::map<int, std::vector<int>> users;  // of each unit
  for (int c = 0; c < std::ssize(claims); ++c)
    for (const int unit : claims[at(c)].units) users[unit].push_back(c);
  std::map<std::vector<int>, Atom> by_users;
  for (const auto& [unit, who] : users) {
    auto& atom = by_users[who];
    atom.claims = who;
    atom.units.push_back(unit);
    ++atom.free;
  }
  std::vector<Atom> atoms;
  atoms.reserve(by_users.size());
  for (auto& [who, atom] : by_users) atoms.push_back(std::move(atom));
  // Fewest users first: units that only one claim can use cost the others nothing.
  std::ranges::stable_sort(
      atoms, [](const Atom& a, const Atom& b) { return a.claims.size() < b.claims.size(); });
  return atoms;
}

// Fills all claims evenly, one unit at a time, moving units between claims where that makes room
// (augmenting paths). A claim that cannot grow now never can again.
class WaterFilling {
 public:
  explicit WaterFilling(const std::vector<ShareClaim>& claims)
      : claims_(claims),
        atoms_(atoms_of(claims)),
        usable_(claims.size()),
        taken_(claims.size(), std::vector<int>(atoms_.size(), 0)),
        total_(claims.size(), 0),
        full_(claims.size(), false),
        crowded_(claims.size(), false) {
    for (int a = 0; a < std::ssize(atoms_); ++a)
      for (const int c : atoms_[at(a)].claims) usable_[at(c)].push_back(a);
  }

  void fill() {
    for (int claim = poorest(); claim >= 0; claim = poorest()) {
      std::vector<bool> reached(claims_.size(), false);
      if (grow(claim, reached)) {
        ++total_[at(claim)];
        continue;
      }
      full_[at(claim)] = true;
      // No claim outside the reached ones holds, or will hold, the units these may use.
      if (total_[at(claim)] >= claims_[at(claim)].ranks) continue;
      for (std::size_t c = 0; c < reached.size(); ++c)
        if (reached[c]) crowded_[c] = true;
    }
  }

  std::vector<int> crowded() const {
    std::vector<int> claims;
    for (int c = 0; c < std::ssize(claims_); ++c)
      if (crowded_[at(c)]) claims.push_back(c);
    return claims;
  }

  /// The units of each claim, ascending.
  std::vector<std::vector<int>> units() const {
    std::vector<std::vector<int>> given(claims_.size());
    for (int a = 0; a < std::ssize(atoms_); ++a) {
      auto next = atoms_[at(a)].units.begin();
      for (const int c : atoms_[at(a)].claims) {
        const auto end = next + taken_[at(c)][at(a)];
        given[at(c)].insert(given[at(c)].end(), next, end);
        next = end;
      }
    }
    for (auto& list : given) std::ranges::sort(list);
    return given;
  }

 private:
  // Returns the claim with the fewest units per rank that can still grow; of equals, the one with
  // the fewest usable units.
  int poorest() const {
    int best = -1;
    for (int c = 0; c < std::ssize(claims_); ++c) {
      if (full_[at(c)]) continue;
      if (best < 0 || poorer(c, best)) best = c;
    }
    return best;
  }

  bool poorer(int a, int b) const {
    const long long left = 1LL * total_[at(a)] * claims_[at(b)].ranks;
    const long long right = 1LL * total_[at(b)] * claims_[at(a)].ranks;
    if (left != right) return left < right;
    return claims_[at(a)].units.size() < claims_[at(b)].units.size();
  }

  // On failure, `reached` holds the claims that own all units this one could use.
  bool grow(int claim, std::vector<bool>& reached) {
    struct Step {
      int claim;  // wants a unit of `atom`
      int atom;
      int from;  // index of the step whose atom this claim would give up; -1 for the first claim
    };
    std::vector<Step> steps;
    std::vector<bool> tried(atoms_.size(), false);
    const auto want = [&](int who, int from) {
      reached[at(who)] = true;
      for (const int a : usable_[at(who)])
        if (!tried[at(a)]) {
          tried[at(a)] = true;
          steps.push_back({who, a, from});
        }
    };
    want(claim, -1);
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const auto atom = at(steps[s].atom);
      if (atoms_[atom].free > 0) {
        --atoms_[atom].free;
        for (int i = static_cast<int>(s); i >= 0; i = steps[at(i)].from) {
          const auto& step = steps[at(i)];
          ++taken_[at(step.claim)][at(step.atom)];
          if (step.from >= 0) --taken_[at(step.claim)][at(steps[at(step.from)].atom)];
        }
        return true;
      }
      for (const int holder : atoms_[atom].claims)
        if (!reached[at(holder)] && taken_[at(holder)][atom] > 0) want(holder, static_cast<int>(s));
    }
    return false;
  }

  const std::vector<ShareClaim>& claims_;
  std::vector<Atom> atoms_;
  std::vector<std::vector<int>> usable_;  // atoms of each claim
  std::vector<std::vector<int>> taken_;   // units of claim c from atom a
  std::vector<int> total_;
  std::vector<bool> full_;
  std::vector<bool> crowded_;
};

// Chooses the ranks that get one unit more than the others, so that the most border weight falls
// between ranks. weight[p] belongs to the border before unit p. Ties go to the earlier ranks.
std::vector<bool> place_extras(const std::vector<int>& weight, int ranks, int base, int extra) {
  std::vector<bool> longer(at(ranks), false);
  constexpr long long most_cells = 1 << 20;  // about a millisecond
  const auto column = at(extra) + 1;
  if (1LL * ranks * extra > most_cells) {
    std::fill_n(longer.begin(), extra, true);
    return longer;
  }
  // best[i * column + e]: border weight still attainable after i ranks have used e extras.
  constexpr int impossible = -1;
  std::vector<int> best((at(ranks) + 1) * column, impossible);
  best[at(ranks) * column + at(extra)] = 0;
  const auto value = [&](int i, int e) {
    if (e > extra) return impossible;
    const int rest = best[at(i) * column + at(e)];
    if (rest == impossible) return impossible;
    return rest + (i < ranks ? weight[at(i * base + e)] : 0);
  };
  for (int i = ranks - 1; i >= 0; --i)
    for (int e = std::max(0, extra - (ranks - i)); e <= std::min(i, extra); ++e)
      best[at(i) * column + at(e)] = std::max(value(i + 1, e), value(i + 1, e + 1));
  for (int i = 0, e = 0; i < ranks; ++i) {
    longer[at(i)] = value(i + 1, e + 1) != impossible && value(i + 1, e + 1) >= value(i + 1, e);
    if (longer[at(i)]) ++e;
  }
  return longer;
}

std::vector<std::vector<int>> split_evenly(const std::vector<ShareUnit>& all,
                                           const std::vector<int>& units, int ranks,
                                           Borders borders) {
  const int count = static_cast<int>(units.size());
  const int base = count / ranks;
  const int extra = count % ranks;
  std::vector<int> weight(units.size(), 0);
  for (std::size_t p = 1; p < units.size(); ++p)
    weight[p] = border_weight(all[at(units[p - 1])], all[at(units[p])], borders);
  const auto longer = place_extras(weight, ranks, base, extra);

  std::vector<std::vector<int>> shares(at(ranks));
  auto next = units.begin();
  for (int r = 0; r < ranks; ++r) {
    const auto end = next + base + (longer[at(r)] ? 1 : 0);
    shares[at(r)].assign(next, end);
    next = end;
  }
  return shares;
}

// More ranks than units: adjacent ranks share.
std::vector<std::vector<int>> share_units(const std::vector<int>& units, int ranks) {
  std::vector<std::vector<int>> shares(at(ranks));
  for (int r = 0; r < ranks; ++r) shares[at(r)] = {units[at(r) * units.size() / at(ranks)]};
  return shares;
}

}  // namespace

std::vector<int> crowded_claims(const std::vector<ShareClaim>& claims) {
  if (claims.size() == 1)
    return std::ssize(claims[0].units) < claims[0].ranks ? std::vector{0} : std::vector<int>{};
  WaterFilling water(claims);
  water.fill();
  return water.crowded();
}

Shares divide_units(const std::vector<ShareUnit>& units, const std::vector<ShareClaim>& claims,
                    Borders borders) {
  std::vector<std::vector<int>> given;
  if (claims.size() == 1) {
    given = {claims[0].units};
  } else {
    WaterFilling water(claims);
    water.fill();
    given = water.units();
  }
  Shares shares;
  for (std::size_t c = 0; c < claims.size(); ++c) {
    const auto& own = given[c].empty() ? claims[c].units : given[c];
    shares.push_back(std::ssize(own) < claims[c].ranks
                         ? share_units(own, claims[c].ranks)
                         : split_evenly(units, own, claims[c].ranks, borders));
  }
  return shares;
}

std::vector<int> closest_units(const std::vector<ShareUnit>& all, const std::vector<int>& units,
                               int count) {
  if (count >= std::ssize(units)) return units;
  std::vector<int> before(units.size(), 0);  // border weight to the left of each position
  for (std::size_t p = 1; p < units.size(); ++p)
    before[p] = before[p - 1] +
                border_weight(all[at(units[p - 1])], all[at(units[p])], Borders::numa_and_l3);
  std::size_t best = 0;
  int least = before[at(count) - 1];
  for (std::size_t p = 1; p + at(count) <= units.size(); ++p) {
    const int inside = before[p + at(count) - 1] - before[p];
    if (inside < least) {
      least = inside;
      best = p;
    }
  }
  const auto first = units.begin() + static_cast<std::ptrdiff_t>(best);
  return {first, first + count};
}

std::vector<int> spread_units(const std::vector<int>& units, int count) {
  if (count >= std::ssize(units)) return units;
  std::vector<int> chosen;
  chosen.reserve(at(count));
  for (int i = 0; i < count; ++i) chosen.push_back(units[at(i) * units.size() / at(count)]);
  return chosen;
}

}  // namespace dllaunch
