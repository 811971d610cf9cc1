// One attempt of a run: how it ended, and what the supervisor decided.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "launcher/run/failure.hpp"

namespace dllaunch {

/// Why the ranks of an attempt ended.
enum class Cause {
  completed,   // confirmed: the training reported it, or every rank exited with 0
  cancelled,   // cancelled by a person
  superseded,  // a newer incarnation has taken over
  time_limit,  // the allocation ends
  preempted,
  requeued,  // through scontrol
  lost_node,
  stalled,      // ended by the supervisor: no progress
  unproven,     // the starter exited with 0, but nothing shows that the work is complete
  failed,       // a rank was killed, or exited with a nonzero code
  cut_short,    // the supervisor was killed before the attempt ended
  not_started,  // no rank started: the controller or a node is unreachable, or Slurm is busy
  storage,      // failed while the run directory was full or unavailable
  corrupted,    // the trainer's ranks held numbers that differed
};
inline constexpr std::string_view cause_names[] = {
    "completed", "cancelled", "superseded", "time_limit", "preempted",   "requeued", "lost_node",
    "stalled",   "unproven",  "failed",     "cut_short",  "not_started", "storage",  "corrupted"};
std::string_view to_string(Cause cause);

struct Attempt {
  std::string job = {};            // Slurm job id; empty without Slurm
  int allocation = 0;              // how often Slurm had requeued the job
  Cause cause = Cause::cut_short;  //
  int exit_code = 0;               // of srun or mpirun
  DeadRank dead = {};              // rank -1 and no code: unknown
  double dead_seen_s = 0;          // Unix seconds; the starter may take longer to exit; 0: never
  int error_rank = -1;             // rank that wrote first_error
  std::string first_error = {};    // "ValueError: bad"; empty: no log shows one
  std::string detail = {};         // name of a lost or silent node; description of a stall, a disk
                                   // problem, wrong numbers or a late start, of who cancelled, or
                                   // of ranks that did not begin
  std::string checkpoint = {};     // newest at the start; for an attempt that is cut short
  bool new_checkpoint = false;     // since the start of the attempt
  bool idle = false;               // hung: silent, and ignored the request to save
  bool enough_nodes = false;       // lost_node: the allocation has enough nodes without it
  bool asks = false;               // corrupted: the next start is to find out whose numbers it is
  int nodes = 0;                   // of the ranks; 0: as planned
};

/// Returns how an attempt ended: "rank 1 on n2 was killed by signal 9 (SIGKILL)".
std::string describe(const Attempt& attempt);

/// Whether Slurm had not started the ranks' step in time, on nodes that answer.
bool is_delay(const Attempt& attempt);

/// Whether the exit code is permanent: the configuration is wrong, a retry cannot help.
bool is_final(int code);

/// What follows an attempt.
enum class Next { restart, requeue, stop, hold };
inline constexpr std::string_view next_names[] = {"restart", "requeue", "stop", "hold"};
std::string_view to_string(Next next);

}  // namespace dllaunch
