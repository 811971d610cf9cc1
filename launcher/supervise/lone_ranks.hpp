// Ends the ranks of a start that has lost one, on all nodes, without waiting for Slurm. srun ends
// their step with TERM, and KILL after KillWait, 30 s by default; until then Slurm's daemon on each
// node answers no other request about that step, not even `scancel --signal=KILL` (22.05).
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/os/owned_process.hpp"
#include "launcher/os/system.hpp"
#include "launcher/supervise/supervised_run.hpp"

namespace dllaunch {

/// Whether a rank of that start is writing a checkpoint: killed now, it would be lost.
bool saves_checkpoint(const std::string& run_dir, std::int64_t fencing_token);

/// What is known when srun says that a rank or a node of a training is gone.
struct RankGone {
  bool killed = false;   // by a signal, or with its node
  bool echo = false;     // by SIGPIPE: it wrote to a rank that srun has not named yet
  bool saves = false;    // another rank is writing a checkpoint
  bool stalled = false;  // the ranks were in a stall and may have reports of it to write
};

/// How long the ranks that are left may go on.
std::chrono::milliseconds patience_with_survivors(const RankGone& gone);

/// Signals the ranks on this machine that a start of the run began. `fencing_token`: of that start.
void kill_ranks_of_start(const std::string& run_dir, std::int64_t fencing_token,
                         int signal = SIGKILL);

/// Starts a step on the nodes of the ranks that Slurm still counts among the job's, except this
/// one, whose tasks do the same there. nullopt: srun did not start the ranks, there is no such
/// node, or Slurm does not answer.
std::optional<OwnedProcess> kill_ranks_elsewhere(System& system, const SupervisedRun& run,
                                                 std::int64_t fencing_token, int signal = SIGKILL);

/// The command line of that step. `nodes`: without this one.
std::vector<std::string> killing_argv(const SupervisedRun& run,
                                      const std::vector<std::string>& nodes,
                                      const std::string& dllaunch, std::int64_t fencing_token,
                                      int signal = SIGKILL);

}  // namespace dllaunch
