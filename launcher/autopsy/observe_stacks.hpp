// Reads the stacks of a job's processes on this node. The only part of autopsy that touches them.
#pragma once

#include <chrono>
#include <vector>

#include "launcher/autopsy/stacks.hpp"
#include "launcher/os/system.hpp"

namespace dllaunch {

struct RankProgram {
  int rank = 0;
  int pid = 0;
};

/// At most 256 processes, 64 of a rank, and 32 threads of a process; `limit` for all. Each process
/// is read in a child of its own, so one that makes the reader crash or hang costs its own stacks
/// only. What cannot be read says why.
NodeStacks observe_stacks(System& system, const std::vector<RankProgram>& ranks,
                          std::chrono::milliseconds limit);

}  // namespace dllaunch
