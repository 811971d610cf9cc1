// Which ranks hold up the others, by their stacks. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/autopsy/stacks.hpp"
#include "support/id_set.hpp"

namespace dllaunch {

/// Ranks whose programs' main threads have the same frames.
struct StackGroup {
  IdSet ranks = {};
  Stack frames = {};
  std::string collective = {};  // what its ranks wait for together: "all_reduce"; empty: nothing
  std::string why_not = {};     // why there are no frames
};

/// A rank that does not do what most do.
struct OddRank {
  int rank = 0;
  std::string host = {};
  StackFrame frame = {};      // the innermost one that its author would know
  std::string why = {};       // "is outside the collective in which the others wait"
  bool tells_others = false;  // `why` says where the others are
};

/// Returns the ranks that are stopped or blocked in the kernel, and those that do not take part in
/// what most do, by rank. None if no more than half of the ranks agree.
std::vector<OddRank> odd_ranks(const std::vector<NodeStacks>& nodes,
                               const std::vector<StackGroup>& groups);

/// The collective or message that the program's main thread waits in, by the names of PyTorch, MPI,
/// NCCL, Gloo, Horovod and dltrain: "all_reduce"; empty: none.
std::string collective_of(const ProcessStacks& program);

/// Why the main thread has no frames.
std::string why_not(const ProcessStacks& program);

/// The innermost frame that the program's author would know; without a function: none has a name.
StackFrame telling_frame(const Stack& frames);

/// "_try_get_data (dataloader.py:1132)"; a long name is cut.
std::string frame_text(const StackFrame& frame);

}  // namespace dllaunch
