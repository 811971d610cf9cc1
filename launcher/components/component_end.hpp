// How a modular job ended, from how its components did.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/plan/run_outline.hpp"
#include "launcher/run/attempt.hpp"
#include "launcher/run/summary.hpp"

namespace dllaunch {

struct ComponentsEnd {
  Next next = Next::stop;  // requeue: the whole job
  RunStatus status = RunStatus::completed;
  int exit_code = 0;
  bool ask_slurm = false;    // requeue: Slurm does not do it on its own
  std::string exclude = {};  // requeue: host list of nodes to avoid
  std::string reason = {};   // "component loader: rank 0 on n1 exited with code 7"
  std::string beside = {};   // completed: what failed just before; empty: nothing
};

/// `decided`: whose end ended the job. Without one the first that did not complete counts: Slurm or
/// a user ended them all. `jobs`: their Slurm jobs in this start; empty: not on Slurm. What a
/// component's supervisor or `dllaunch run` wrote says why.
ComponentsEnd end_of_components(System& system, const RunOutline& whole,
                                const std::vector<std::optional<int>>& codes,
                                std::optional<std::size_t> decided,
                                const std::vector<std::string>& jobs);

}  // namespace dllaunch
