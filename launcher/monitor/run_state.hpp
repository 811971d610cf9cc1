// A run's state as `ps` and `status` show it, from its directory, the queue and its lock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/run/events.hpp"
#include "launcher/run/stored_run.hpp"
#include "launcher/slurm/job_identity.hpp"
#include "launcher/slurm/scontrol_parser.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// Progress from the end of a run's events or its newest log.
struct RunProgress {
  std::optional<std::int64_t> epoch = {};
  std::optional<std::int64_t> step = {};
  std::optional<double> loss = {};
  std::optional<double> val_accuracy = {};
  std::optional<double> images_per_s = {};
  std::string stalled = {};    // "rank 1 late since 10:03:04"; empty: not
  std::string last_line = {};  // without events: from the newest log
};
RunProgress read_progress(const StoredRun& run);
/// Adds one event of the run.
void take_event(const Event& event, RunProgress& progress);

/// The state is one of: pending, running, completing, completed, failed, cancelled, timeout,
/// preempted, node_fail, out_of_memory, ended (it was not followed to its end), died (the local
/// dllaunch was killed), unknown (Slurm does not respond), elsewhere (its job is on another
/// cluster).
struct RunState {
  StoredRun run;
  std::string state;
  std::vector<QueuedJob> jobs = {};  // in the queue; several for an array
  bool number_taken = false;         // the queue has a different job with this id
  std::optional<RunLockHolder> owner = {};
  std::optional<double> seconds = {};  // run time
  /// Its nodes as a host list; of an ended run, those of its ranks; empty: none. A local run's
  /// host.
  std::string where = {};
  std::vector<int> sizes = {};  // of an elastic run: sizes_in()
  RunProgress progress = {};
  std::string waits = {};  // "waits since 12:03:04: node n3 ..."; empty: not, or not running
};

/// The queue from one query.
struct Queue {
  bool answered = false;
  std::vector<QueuedJob> jobs = {};
};

/// Returns the queue's entries of one job, including tasks of an array, without other jobs that
/// have the same id.
std::vector<QueuedJob> jobs_of(const Queue& queue, const JobIdentity& job);

/// Returns the state without progress. Checks only the run's lock.
RunState run_state_without_progress(StoredRun run, const Queue& queue, double now_s);

/// Pure except for the run's own files. `now_s`: Unix seconds.
RunState run_state_of(StoredRun run, const Queue& queue, double now_s);

/// The state of a run whose directory is away, by its script in the queue; nullopt: Slurm has no
/// job of it there.
std::optional<RunState> state_of_away_run(const std::string& path, const Queue& queue);

bool is_over(const RunState& run_state);

/// Returns "epoch 2/3 step 120 val_accuracy 0.9012", or the last line of a log; empty: nothing yet.
std::string progress_words(const RunState& run_state);
/// Returns why a run is pending and its expected start; empty if it is not pending.
std::string waiting_words(const RunState& run_state);

/// Returns a table, cut to `columns` in cells that are not meant to be copied.
std::string render_runs(const std::vector<RunState>& run_states, int columns);
Json to_json(const RunState& run_state);

}  // namespace dllaunch
