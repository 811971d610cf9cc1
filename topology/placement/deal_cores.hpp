// Assigns CPUs to seats: divides cores that several ranks may use.
#pragma once

#include <string>
#include <vector>

#include "topology/placement/seats.hpp"

namespace dllaunch {

struct DealtCores {
  std::vector<IdSet> cpus;            // of each seat
  std::vector<IdSet> far;             // of these, those assigned after the near ones
  std::vector<int> cores_in_domain;   // usable ones near each seat
  std::vector<int> ranks_in_domain;   // seats with the same domain
  std::vector<std::string> warnings;  // sentences
};

/// Returns the cores of each seat, by the rules of place_ranks() (placement.hpp), for `request`'s
/// mode, smt, cores_per_rank and policy.
DealtCores deal_cores(const UsableNode& node, const std::vector<Seat>& seats,
                      const PlacementRequest& request);

/// Returns "ranks 0-3 share CPUs 0-1", or "" if none of `ranks` share.
std::string describe_sharing(const std::vector<IdSet>& cpus, const std::vector<int>& ranks);

}  // namespace dllaunch
