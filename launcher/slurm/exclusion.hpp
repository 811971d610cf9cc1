// Which nodes a requeued job is not to start on: bounded, so that enough are left. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dllaunch {

struct Exclusion {
  std::string fresh = {};  // a host list: found unfit now
  // Host lists of earlier requeues of this job, oldest first.
  std::vector<std::string> earlier = {};
  std::size_t chain = 0;     // how many of these, from the end, are since ranks last started
  std::string by_user = {};  // a host list: never forgotten
  std::size_t needed = 0;    // nodes without which the job cannot start
};

/// A host list. `now`: what Slurm leaves out already. `usable`: the nodes of the partition that can
/// start jobs, each once; empty: unknown.
///
/// What the user or others left out stays. So do nodes found unfit since ranks last started, since
/// the next start would meet them again. Of older ones the newest stay, until all are a tenth of
/// `usable`. None is left out without which fewer than `needed` would be left, since such a job
/// waits forever. One that is forgotten is looked at by the next pre-flight. Where `usable` is
/// unknown, none is forgotten.
std::string nodes_to_exclude(const Exclusion& wanted, const std::string& now,
                             const std::vector<std::string>& usable);

}  // namespace dllaunch
