// What earlier measurements on this cluster had: whether all links together are slower than usual.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/links/link_verdict.hpp"
#include "launcher/os/system.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// One measurement without a finding: the usual link when all hosts were busy.
struct PastLinks {
  double time = 0;  // Unix seconds
  std::size_t hosts = 0;
  std::string interface = {};  // NCCL_SOCKET_IFNAME; empty: that of the hosts' names
  double gbit_per_s = 0;
  double us = 0;
};

/// What the comparable ones had: the same interface, and as many hosts, rounded up to a power of
/// two, since many hosts share what few have to themselves.
struct LinkBaseline {
  std::size_t measurements = 0;
  double gbit_per_s = 0;      // median
  double gbit_per_s_mad = 0;  // median of the distances from it
  double us = 0;
  double us_mad = 0;
  bool slow = false;  // the present rate is unusually low
  bool late = false;  // the present time is unusually long
};

/// Pure. With fewer than 5 comparable measurements, nothing is unusual. A rate is if it is below
/// `slow_below` of the median and further from it than 6 standard deviations, taken as 1.4826 MAD;
/// a time by the rule of score_of() and the same deviation.
LinkBaseline baseline_of(const std::vector<PastLinks>& past, const PastLinks& now);

Json to_json(const std::vector<PastLinks>& past);
/// Skips what does not fit.
std::vector<PastLinks> past_links_from(std::string_view text);

/// Compares with $XDG_STATE_HOME/dllaunch/links/CLUSTER.json, and adds the measurement to it if
/// `learn`. The last 50 are kept. Without a state folder, or if it cannot be written, nothing is
/// remembered; `log` says why. Of two that write at once, one is lost.
LinkBaseline compare_with_past(System& system, const PastLinks& now, bool learn);

}  // namespace dllaunch
