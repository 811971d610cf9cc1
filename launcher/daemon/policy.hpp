// Decides what to do about a run whose job has ended, from outside the job. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/run/summary.hpp"

namespace dllaunch {

/// What cancelled a job.
enum class Canceller { unknown, user, system };

/// What the user allows (`recovery:` of the job file).
struct RecoveryWishes {
  std::vector<std::string> requeue_on = {"timeout", "preempted", "node_fail"};
  bool may_start_again = true;  // false: the script sets --no-requeue
};

struct EndedJob {
  RunStatus status = RunStatus::completed;
  int exit_code = 0;
  bool array = false;
  bool slurm = true;
  Canceller canceller = Canceller::unknown;
  bool cancel_wished = false;   // cancelled through the daemon
  bool new_checkpoint = false;  // since this job was submitted
  bool completed = false;       // according to the run itself, whatever became of the job
  bool forgotten = false;       // Slurm has no record of the job
  std::string stopped = {};     // why the supervisor gave up; empty: it did not
};

/// The run's history with the daemon.
struct RunPast {
  int submissions = 0;       // by the daemon
  int without_progress = 0;  // consecutive jobs without a new checkpoint, before this one
  int system_cancels = 0;    // cancellations by Slurm that were resubmitted
  int refusals = 0;          // consecutive submissions that failed
  std::string refusal = {};  // why the last one did
};

struct Caps {
  int most_submissions = 100;  // per run
  int most_jobs = 100;         // of the user, in the queue at once
  int jobs = 0;                // in the queue now
  double most_gpu_hours = 0;   // of the user, within 30 days; 0: no limit
  double gpu_hours = 0;        // used so far
};

enum class RunVerdict {
  leave,    // it completed, or nothing is to be done
  submit,   // resubmit in the same directory
  wait,     // resubmit later
  give_up,  // it failed, and a retry would not help
};

struct RunAction {
  RunVerdict verdict = RunVerdict::leave;
  std::string reason = {};  // one clause, human-readable

  bool operator==(const RunAction&) const = default;
};

constexpr int most_without_progress = 3;
constexpr int most_system_cancels = 1;
constexpr int most_refusals = 5;

RunAction decide(const EndedJob& ended, const RecoveryWishes& wishes, const RunPast& past,
                 const Caps& caps);

/// Returns a comma-separated list of nodes to exclude: the user's, and those that failed twice;
/// empty: none.
std::string exclude_list(const std::string& by_user, const std::vector<std::string>& failed);

}  // namespace dllaunch
