// Classifies the end of srun or mpirun from its exit code, its output and the run's events.
#pragma once

#include <string>
#include <string_view>

#include "launcher/run/attempt.hpp"

namespace dllaunch {

struct StarterExit {
  int code = 0;  // exit code of the starter: the highest of the ranks', 128+n after a signal
  std::string output = {};  // its standard error; superseded: the new owner
  bool trains = false;
  std::string training_end = {};  // status in the attempt's `end` event; empty: none
  bool superseded = false;        // ownership was lost
  bool told_to_end = false;       // received TERM, INT or HUP
  bool time_is_short = false;  // the ranks were asked to save, or ended, because of the time limit
  int save_signal = 0;         // by which ranks were asked to save, and not ended since; 0: none
  bool wrote_files = false;    // a command, into the run's directory
  double dead_seen_s = 0;      // Unix seconds at which the output first named a dead rank; 0: never
  std::string before_kill =
      {};                  // the output until ranks without a peer were killed; empty: as above
  std::string stall = {};  // ended because of a stall; empty: not
  std::string late = {};   // ranks for which the others did not wait longer; empty: none
  std::string lost_nodes = {};   // a host list: ended because these do not answer; empty: not
  std::string not_started = {};  // ended because Slurm did not start the step: why; empty: not
  std::string unbegun = {};      // ranks did not begin: which and why; empty: all did, or not known
  double seconds = 0;            // duration of the attempt
  double silent_s = 0;           // silence before its end
};

/// Returns the attempt without what its logs and checkpoints add.
Attempt classify_exit(const StarterExit& end);

/// Returns the lines written by srun or Slurm's daemons. Ranks' output may arrive in the same
/// stream and quote them.
std::string slurm_output(std::string_view output);

/// Returns "n2" for "srun: error: Node failure on n2"; empty: none.
std::string lost_node_in(std::string_view output);

/// Returns the line by which srun says that it could not start a task: "srun: error: task 2 launch
/// failed: Slurmd could not connect IO"; empty: none. Its exit code is 0 all the same.
std::string launch_failure_in(std::string_view output);

/// Returns the first line that is an error of srun or Slurm's daemons; empty: none.
std::string first_slurm_error(std::string_view output);

/// Returns Slurm's reason why srun still waits for it to start the ranks' step, "Requested nodes
/// are busy"; empty: it does not wait.
std::string delay_of_start(std::string_view output);

/// Whether a rank ran out of memory: Slurm and the kernel kill it with SIGKILL and report it only
/// here.
bool tells_of_memory(std::string_view output);

}  // namespace dllaunch
