// What the end of srun or mpirun means: read from its code, its words and the run's own events.
#pragma once

#include <string>
#include <string_view>

#include "launcher/run/attempt.hpp"

namespace dllaunch {

struct StarterExit {
  int code = 0;             // its own: the highest of the ranks', 128+n after a signal
  std::string output = {};  // what it wrote to standard error; superseded: by whom
  bool trains = false;
  std::string training_end = {};  // status of the attempt's `end` event; empty: there is none
  bool superseded = false;        // ownership was lost
  bool told_to_end = false;       // TERM, INT or HUP came
  bool time_is_short = false;     // the ranks were asked to save because of the time limit, or
                                  // ended for it
  double dead_seen_s = 0;  // Unix seconds at which the words first named a dead rank; 0: never
  std::string stall = {};  // ended because nothing moved; empty: not
  double seconds = 0;      // it lasted
  double silent_s = 0;     // at its end, since something moved
};

/// Everything of the attempt but what its logs and checkpoints say.
Attempt classify_exit(const StarterExit& end);

/// The lines that srun or Slurm's daemons have written: what ranks print may come the same way, and
/// quote them.
std::string slurm_output(std::string_view output);

/// "n2" of "srun: error: Node failure on n2"; empty where nobody says it.
std::string lost_node_in(std::string_view output);

/// Slurm's own watch over memory, and the kernel's, end a rank by SIGKILL and say so only here.
bool tells_of_memory(std::string_view output);

}  // namespace dllaunch
