// Which hosts and links are slow, by how much, and compared with which others. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/links/standing.hpp"

namespace dllaunch {

enum class SlowKind {
  host,   // slow with all partners, or with most
  pair,   // the two are fast with others
  group,  // hosts that are fast among each other, slow to the rest
};

/// One direction of what is slow: the best of its measurements.
struct SlowDirection {
  bool slow = false;
  double gbit_per_s = 0;
  double us = 0;
  std::string why = {};  // not empty: nothing came through
  int draws = 0;
};

struct SlowLink {
  SlowKind kind = SlowKind::host;
  std::vector<std::size_t> a = {};  // one host, but for groups
  std::vector<std::size_t> b = {};
  SlowDirection sends = {};     // from a to b
  SlowDirection receives = {};  // from b to a
};

struct LinkVerdict {
  /// What the links of other hosts, measured at the same time, have.
  UsualLink usual = {};
  /// In the tournament, when all hosts are busy both ways.
  UsualLink under_load = {};
  std::size_t pairs = 0;  // measured
  /// Pairs of the tournament, not of hosts that are silent or cut off, of which a direction was not
  /// measured: time ran out, or one of them was silent for a while.
  std::size_t missed = 0;
  std::vector<SlowLink> slow = {};
  /// Looked slow, but time ran out before it was measured often enough.
  std::vector<SlowLink> unsure = {};
  std::vector<std::size_t> silent = {};   // did not report in time
  std::vector<std::size_t> cut_off = {};  // report, but nothing reaches them, nor they others
};

/// Nothing slow, unsure, silent, cut off or missed.
bool all_links_fine(const LinkVerdict& verdict);

LinkVerdict judge_links(const LinkSurvey& survey);

}  // namespace dllaunch
