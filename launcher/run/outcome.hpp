// How an execution ended, whatever executed it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/run/summary.hpp"

namespace dllaunch {

struct Outcome {
  RunStatus status = RunStatus::completed;
  int exit_code = 0;
  std::string reason = {};               // one clear sentence; empty when completed
  std::string first_error = {};          // "rank 3 on n2: ValueError: bad"; empty: no log shows one
  std::vector<std::string> others = {};  // a line for each further task of an array that failed
  TaskCounts tasks = {};                 // of an array
  std::string advice = {};               // what to change; empty: nobody knows
  std::string log = {};                  // the file `excerpt` is from; empty: none
  std::vector<std::string> excerpt = {};
  double seconds = 0;                        // ranks' wall time
  std::optional<double> queue_seconds = {};  // absent locally
  int restarts = 0;                          // by the cluster or the supervisor
  bool detached = false;                     // still running, no longer followed
  bool taken_over = false;                   // a later start has the run's directory: not ours now
};

}  // namespace dllaunch
