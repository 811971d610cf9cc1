// What `ps` and `status` tell of a run: its directory, its job in the queue, its owner here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/run/events.hpp"
#include "launcher/slurm/job_identity.hpp"
#include "launcher/run/stored_run.hpp"
#include "launcher/slurm/scontrol_parser.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// How far a run is, from the end of its events or its newest log.
struct RunProgress {
  std::optional<std::int64_t> epoch = {};
  std::optional<std::int64_t> step = {};
  std::optional<double> loss = {};
  std::optional<double> val_accuracy = {};
  std::optional<double> images_per_s = {};
  std::string last_line = {};  // without events: of the log that was written last
};
RunProgress read_progress(const StoredRun& run);
/// One more event of the same run.
void take_event(const Event& event, RunProgress& progress);

/// One word of: pending, running, completing, completed, failed, cancelled, timeout, preempted,
/// node_fail, out_of_memory, ended (nobody followed it to its end), died (a dllaunch here that was
/// killed), unknown (Slurm does not answer), elsewhere (its job is of another cluster).
struct RunState {
  StoredRun run;
  std::string state;
  std::vector<QueuedJob> jobs = {};  // in the queue: of an array several
  bool number_taken = false;         // the queue has another job of the run's number
  std::optional<RunLockHolder> owner = {};
  std::optional<double> seconds = {};  // it has run
  std::string where = {};              // nodes, or this machine's name
  RunProgress progress = {};
};

/// The queue as one call tells it.
struct Queue {
  bool answered = false;
  std::vector<QueuedJob> jobs = {};
};

/// The queue's entries of one job, tasks of an array included; not those of another job that has
/// the same number.
std::vector<QueuedJob> jobs_of(const Queue& queue, const JobIdentity& job);

/// Without its progress. Looks at the run's lock only.
RunState run_state_without_progress(StoredRun run, const Queue& queue, double now_s);

/// Pure but for the run's own files. `now_s`: Unix seconds.
RunState run_state_of(StoredRun run, const Queue& queue, double now_s);

bool is_over(const RunState& run_state);

/// "1-02:03:04", "2:03:04", "03:04" as squeue writes it.
std::optional<double> parse_elapsed(std::string_view text);

/// "epoch 2/3 step 120 val_accuracy 0.9012", or the last line of a log; empty: nothing yet.
std::string progress_words(const RunState& run_state);
/// Why a pending run waits, and until when it is expected to; empty when it does not.
std::string waiting_words(const RunState& run_state);

/// A table, cut to `columns` at the place nobody needs to copy.
std::string render_runs(const std::vector<RunState>& run_states, int columns);
Json to_json(const RunState& run_state);

}  // namespace dllaunch
