// How often nodes fail, as a value, and fitted from outages that were seen. Pure.
//
// The model: failures come in groups, of nodes that fail within minutes of each other. Groups
// arrive at random, at a rate that is drawn anew every fortnight around its mean, because months
// differ more than chance explains, and once for a run, because nodes differ and because the rate
// itself may be uncertain.
#pragma once

#include <string>
#include <vector>

#include "launcher/failures/outages.hpp"
#include "support/result.hpp"

namespace dllaunch {

struct FailureRates {
  double node_mtbf_s = 0;           // until a node that a job got fails
  double repair_s = 0;              // mean; 0: unknown
  double uneven_times = 0;          // coefficient of variation of the rate between fortnights
  double uneven_nodes = 0;          // the same between nodes
  double uncertain = 0;             // the same of the rate itself, as few failures were seen
  std::vector<double> groups = {};  // share of groups of 1, 2, ... nodes; empty: all of one
  int fleet = 0;                    // nodes of which `groups` tells; 0: unknown
  std::string source = {};          // for people: what they are from
};

/// The period for which a rate holds.
constexpr double rate_period_s = 14 * 86400.0;
/// Nodes that fail within this time of the first of them are a group.
constexpr double group_span_s = 600;

/// The time between failures is that of nodes as a job has them: time up over first failures in the
/// fortnight after a moment. It is longer than the plain time between failures where nodes fail
/// again soon after their repair, since a job does not get a node back. Unevenness is what the
/// variance of counts has beyond Poisson's, which equals their mean: cv^2 = (variance - mean) /
/// mean^2, of groups by fortnight and of failures by node. unsatisfiable: nothing failed.
Result<FailureRates> fit_failure_rates(const NodeOutages& seen, std::string source);

/// Failures that come together.
struct FailureGroups {
  std::vector<double> shares = {};  // of groups of 1, 2, ... nodes
  std::vector<double> begins = {};  // seconds, ascending
};
FailureGroups group_failures(std::vector<double> moments);

/// Between what a node's time between failures lies in at least 8 of 10 cases, if its rate is
/// uncertain: Garwood's interval of a rate of which k events were seen in a given time (1936), the
/// quantiles 0.1 of the gamma distribution of shape k and 0.9 of that of shape k + 1, by Wilson and
/// Hilferty 1931.
struct MtbfRange {
  double low_s = 0;
  double high_s = 0;
};
MtbfRange mtbf_range(const FailureRates& rates);

/// How the groups hit a job on `nodes` of the fleet.
struct HitRates {
  double per_s = 0;                 // of groups that hit at least one
  std::vector<double> shares = {};  // of these, that hit 1, 2, ... nodes
  int nodes = 1;
  double uneven_times = 0;
  double uneven_run = 0;  // of the mean rate of so many nodes: between runs, and as it is uncertain
};
HitRates hit_rates(const FailureRates& rates, int nodes);

/// The part of the nodes that is in repair on average, 0 .. 1; 0: repair times are unknown.
double share_in_repair(const FailureRates& rates);

}  // namespace dllaunch
