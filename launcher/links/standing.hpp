// What the measurements say so far: which links are fast, and who is suspected. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "launcher/links/link_survey.hpp"

namespace dllaunch {

/// Below this part of the usual speed a link is slow: a link that has lost half of its lanes, or
/// has fallen back to half its rate, is at 0.5. Links of one kind differ by some percent.
constexpr double slow_below = 0.6;
/// A link is also slow if its round trip takes more than `late_times` the usual one and `late_us`:
/// a process that waits for its CPU is late by less than that.
constexpr double late_times = 4;
constexpr double late_us = 200;

struct UsualLink {
  double gbit_per_s = 0;
  double us = 0;
};

/// 1: as fast as usual, 0.5: half as fast, 0: failed. Compares the rate; if the link is late, the
/// time instead, if that is worse.
double score_of(const PulledData& data, const UsualLink& usual);

/// One direction of a pair.
struct LinkRecord {
  double score = -1;     // the best; -1: not measured
  PulledData best = {};  // the one with that score
};

/// `a` and `b` are suspected of a slow path between them. One host in `a` and all others in `b`:
/// the host itself. One host in each: this pair. Otherwise: two groups, of which each is fast
/// within.
struct Suspicion {
  std::vector<std::size_t> a = {};
  std::vector<std::size_t> b = {};
};

/// Measurements apart from the tournament, of one direction of a suspicion.
struct Evidence {
  int draws = 0;
  int failed = 0;
  int draws_needed = 0;  // as Standing::draws_for_slow
  bool comparable = true;
  LinkRecord record = {};
  /// Enough measurements, all of them slow. Failures need fewer.
  bool proven() const;
  bool refuted() const { return comparable && record.score >= slow_below; }
  bool open() const { return !proven() && !refuted(); }
};
/// Failures that prove a direction broken.
constexpr int draws_for_broken = 2;
/// How likely load may make all draws of a good link slow, by what it does to the controls.
constexpr double chance_of_error = 1e-5;
constexpr int fewest_draws = 5;
constexpr int most_draws = 12;
constexpr int fewest_controls = 4;

struct Standing {
  /// Of the rounds: five sixths of the way up their medians, since load may spoil a round, and a
  /// slow path between groups most of them. Of the later orders: the controls' upper quartile, as
  /// load only slows down.
  UsualLink in_rounds = {};
  UsualLink in_controls = {};  // as in_rounds if there is none
  int controls = 0;
  int draws_for_slow = fewest_draws;
  std::map<Pull, LinkRecord> links = {};
  std::set<std::size_t> out = {};      // silent, or unreachable for all who tried
  std::vector<std::size_t> main = {};  // the largest set of hosts connected by fast pairs
  std::vector<Suspicion> suspicions = {};
  std::set<Pull> fast = {};  // pairs, both ways: to < from
};

Standing standing_of(const LinkSurvey& survey);

/// The evidence on the path from `from` to `to`: both of them sets of hosts.
Evidence evidence_on(const LinkSurvey& survey, const Standing& standing,
                     const std::vector<std::size_t>& to, const std::vector<std::size_t>& from);

}  // namespace dllaunch
