// The stacks of all ranks of a run, from all its nodes.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "launcher/autopsy/merge_stacks.hpp"
#include "launcher/autopsy/observe_stacks.hpp"
#include "launcher/doctor/ranks_of_job.hpp"
#include "launcher/os/system.hpp"

namespace dllaunch {

/// A run whose ranks are looked at.
struct RunningRanks {
  std::string run_dir = {};             // absolute
  std::string job = {};                 // of Slurm; empty: the ranks are on this machine
  std::string group = {};               // component of a heterogeneous job, "1"
  std::vector<std::string> hosts = {};  // by their Slurm names
};

/// How long srun may take on so many nodes.
std::chrono::seconds limit_of_gathering(std::size_t nodes);

/// Takes about 5 s, at most limit_of_gathering() and 3 s. Nodes that do not answer are named
/// with the reason. unavailable: srun cannot start, or no node answers.
Result<StackReport> gather_stacks(System& system, const RunningRanks& run);

/// The part of a node, which gather_stacks() starts there as `dllaunch stacks --node`. At most
/// `most_frames` frames, but for the main threads of the ranks' programs.
NodeStacks stacks_here(System& system, const std::string& run_dir, int most_frames);

/// The programs of the ranks among `processes`, all of one run; `own` is this process. Of several
/// steps, the one with the most ranks; torchrun's workers before their agents. Pure.
std::vector<RankProgram> rank_programs(std::vector<JobProcess> processes, int own);

/// Drops frames beyond `most`: of other threads, then of descendants. Pure.
void bound_frames(NodeStacks& node, int most);

}  // namespace dllaunch
