// One attempt of a run: how it ended, and what a supervisor decided then.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "launcher/run/failure.hpp"

namespace dllaunch {

/// Why the ranks of one attempt ended.
enum class Cause {
  completed,   // and proven: the training said so, or every rank left with 0
  cancelled,   // a person asked for it
  superseded,  // a newer copy of the run has taken over
  time_limit,  // ended because the allocation does
  preempted,
  requeued,  // by somebody's scontrol
  lost_node,
  stalled,      // ended by the supervisor: nothing moved any more
  unproven,     // the starter left with 0, and nothing shows that the work is done
  failed,       // a rank died, or left with a code that is not 0
  cut_short,    // its supervisor was killed and did not see the end
  not_started,  // Slurm's controller is away, or a node: no rank came up
  storage,      // failed, and the run's directory was full or away just then
};
std::string_view to_string(Cause cause);
/// Nothing: no such word.
std::optional<Cause> cause_of_word(std::string_view word);

struct Attempt {
  std::string job = {};            // Slurm's number; empty without Slurm
  int allocation = 0;              // how often Slurm has put the job back into the queue before
  Cause cause = Cause::cut_short;  //
  int exit_code = 0;               // of srun or mpirun
  DeadRank dead = {};              // rank -1 and no code: nobody said
  double dead_seen_s = 0;          // Unix seconds; its starter may need some more to end; 0: never
  int error_rank = -1;             // who wrote first_error
  std::string first_error = {};    // "ValueError: bad"; empty: no log shows one
  std::string words = {};          // a lost or silent node's name; what to say of a stall or disk
  std::string checkpoint = {};     // the newest when it began; of one that is cut short
  bool new_checkpoint = false;     // since the attempt began
  bool idle = false;               // hung: no sign of life, and none when asked to save
  bool enough_nodes = false;       // lost_node: the allocation has enough without it, here
};

/// "rank 1 on n2 was killed by signal 9 (SIGKILL)": how an attempt ended, for people.
std::string describe(const Attempt& attempt);

/// Codes that mean the same at any time: never again; the configuration is wrong.
bool is_final(int code);

/// What follows an attempt.
enum class Next { restart, requeue, stop };
std::string_view to_string(Next next);

}  // namespace dllaunch
