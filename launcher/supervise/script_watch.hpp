// The watcher of a job with spare nodes. With --no-kill, Slurm keeps a job alive after its first
// node died, and the batch script with it. Nothing would restart the ranks or release the other
// nodes. A task on another node therefore checks that Slurm still lists the script's node.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "launcher/job/recovery.hpp"
#include "launcher/os/system.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/slurm/allocation.hpp"

namespace dllaunch {

enum class ScriptNode {
  there,
  gone,     // no longer part of the job, which runs on without its script
  settled,  // the job has ended, is ending, or was requeued
  unknown,  // no usable answer
};

/// Returns the state of the script's node from Slurm's record of the job. `ours`: the job start
/// that the script on `host` belongs to.
ScriptNode judge_script_node(const std::optional<SlurmJob>& job, const JobAllocation& ours,
                             const std::string& host);

struct WatchedScript {
  RunDir dir = {};
  RequeueOn requeue_on = {};
  JobAllocation allocation = {};
  std::string host = {};  // Slurm's name of the script's node
  bool trains = false;
};

struct WatchIntervals {
  std::chrono::milliseconds look{10'000};
  std::chrono::milliseconds longest{60'000};  // while Slurm does not respond
  double silence_s = 20;                      // of a training, before its script's node is asked
};

/// Returns when the job no longer needs a watcher. Requeues a job without its script; if requeue_on
/// or Slurm forbids that, cancels it. Records the reason in supervisor.jsonl; also if a training
/// makes no progress and the script's node does not answer, which Slurm takes SlurmdTimeout to see.
void watch_script(System& system, const WatchedScript& script, WatchIntervals intervals = {});

}  // namespace dllaunch
