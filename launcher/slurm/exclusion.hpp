// Which nodes a requeued job is not to start on: bounded, so that enough are left. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dllaunch {

struct Exclusion {
  std::string fresh = {};  // a host list: found unfit now
  std::vector<std::string> earlier =
      {};                    // host lists of earlier requeues of this job, oldest first
  std::string by_user = {};  // a host list: never forgotten
  std::size_t needed = 0;    // nodes without which the job cannot start
};

/// A host list. `now`: what Slurm leaves out already. `usable`: the nodes of the partition that can
/// start jobs; empty: unknown.
///
/// What the user or others left out stays. Of the nodes found unfit the newest stay: as many as
/// now, or a tenth of `usable` if that is more, and none without which fewer than `needed` would be
/// left, since such a job waits forever. One that is forgotten is looked at by the next pre-flight.
std::string nodes_to_exclude(const Exclusion& wanted, const std::string& now,
                             const std::vector<std::string>& usable);

}  // namespace dllaunch
