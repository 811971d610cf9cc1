// What has been measured between the hosts of a job: values, without effects.
// Hosts are indices into the job's list of hosts.
#pragma once

#include <compare>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace dllaunch {

/// Host `to` takes data from host `from`.
struct Pull {
  std::size_t to = 0;
  std::size_t from = 0;

  friend auto operator<=>(const Pull&, const Pull&) = default;
};

struct PulledData {
  Pull pull = {};
  double gbit_per_s = 0;
  double us = 0;         // the shortest of several round trips of a small message
  std::string why = {};  // empty: it worked
};

/// Pulls that run at the same time.
struct LinkOrder {
  /// In a round of the tournament every host takes from its partner and gives to it. Otherwise few
  /// hosts are busy, each in one direction.
  bool round = true;
  std::vector<Pull> pulls = {};
  /// Not of a round: the pulls from here on are between unsuspected hosts, for comparison.
  std::size_t controls_from = 0;
};

struct DoneOrder {
  LinkOrder order = {};
  std::vector<PulledData> pulled = {};  // what the pulling hosts reported, in any order
};

struct LinkSurvey {
  std::size_t hosts = 0;
  std::vector<DoneOrder> done = {};
  /// Hosts that have not reported in time, from then on left out.
  std::set<std::size_t> silent = {};
};

}  // namespace dllaunch
