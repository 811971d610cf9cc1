// How an execution ended, locally or through Slurm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/run/summary.hpp"

namespace dllaunch {

/// The reason of a local run that is `unseen`, and the only sign of it in summaries before 2026-12.
inline constexpr const char* killed_unseen =
    "the dllaunch that ran it was killed before it could write a summary";

struct Outcome {
  RunStatus status = RunStatus::completed;
  int exit_code = 0;
  std::string reason = {};               // one sentence; empty when completed
  std::string first_error = {};          // "rank 3 on n2: ValueError: bad"; empty: no log shows one
  std::vector<std::string> others = {};  // one line for each further failed task of an array
  TaskCounts tasks = {};                 // of an array
  std::string advice = {};               // what to change; empty: unknown
  std::string log = {};                  // the file of `excerpt`; empty: none
  std::vector<std::string> excerpt = {};
  double seconds = 0;                        // wall time of the ranks
  std::optional<double> queue_seconds = {};  // absent locally
  std::optional<double> task_seconds = {};   // of an array: of all tasks, if known
  std::optional<double> cpu_joules = {};     // of this machine, if the ranks ran here
  // Of the local mpirun or a process that it waited for, the most demanding one's.
  std::optional<std::int64_t> peak_process_bytes = {};
  int restarts = 0;         // by the cluster or the supervisor
  bool detached = false;    // still running, but no longer followed
  bool taken_over = false;  // a later start owns the run directory
  bool unseen = false;      // its dllaunch was killed: nothing is known of its ranks' end
};

}  // namespace dllaunch
