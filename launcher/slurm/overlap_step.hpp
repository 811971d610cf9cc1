// The command line of a job step that shares a job's resources with its ranks.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace dllaunch {

/// One task on each node. It takes nothing from the ranks, inherits no option of their srun through
/// the environment, and a task that fails does not end the others.
struct OverlapStep {
  std::string job = {};    // empty: the job that srun is called in
  std::string group = {};  // component of a heterogeneous job, "1"; empty: the first
  std::string nodes = {};  // a host list; empty: any of the job's
  std::size_t count = 1;   // of nodes
  std::string name = {};   // shown by sacct; empty: the program's
  /// One CPU and no GPU. Otherwise all of the node: --cpus-per-task would imply --exact.
  bool light = false;
  bool hears = false;  // what srun reads goes to every task; srun waits until all have started
  /// On TERM, srun forwards the output so far; it is killed `grace` later if it does not exit.
  std::optional<std::chrono::seconds> limit = {};
  std::chrono::seconds grace = {};
};

std::vector<std::string> argv_of(const OverlapStep& step, const std::vector<std::string>& command);

}  // namespace dllaunch
