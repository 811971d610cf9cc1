// RUN/supervisor.jsonl: what a run's supervisors saw and decided, one line each.
// {"time": 1.5, "event": "attempt", "job": "17", "allocation": 0, "attempt": 1, "generation": 3}
// {"time": 9.5, "event": "ended", ..., "cause": "failed", "exit_code": 1, "reason": "rank 1 ..."}
// {"time": 9.5, "event": "decision", ..., "next": "restart", "reason": "...; restart 1 of 3"}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/run/attempt.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/run/summary.hpp"
#include "topology/network/ring_words.hpp"

namespace dllaunch {

struct JournalAttempt {
  double time = 0;  // Unix seconds, as in all lines
  std::string job = {};
  int allocation = 0;
  int attempt = 1;  // in this allocation
  std::int64_t fencing_token = 0;
  std::string checkpoint = {};  // newest at the start; empty: none
  int nodes = 0;                // of the ranks, where they may be fewer than planned; 0: as planned
  int held = 0;                 // of the job then, like the former
};

struct JournalDecision {
  double time = 0;
  std::string job = {};
  int allocation = 0;
  Next next = Next::stop;
  std::string reason = {};
  RunStatus status = RunStatus::failed;
  int exit_code = 1;  // for a stop
  /// A stop because Slurm did not requeue the job. The daemon may resubmit the run.
  bool wanted_requeue = false;
  std::string exclude = {};  // for a requeue: nodes to avoid
  double until = 0;          // for a hold, which is a stop then: Unix seconds
  std::string beside = {};   // a modular job that completed: what failed just before
};

/// `dllaunch retry` of a hold.
struct JournalRetry {
  double time = 0;
  std::string job = {};
  int allocation = 0;
  std::int64_t fencing_token = 0;  // of the start that was held; names the order (retry_order.hpp)
  std::string by = {};             // "process 4711 on login1"
  std::string changes = {};        // of the job file; empty: none
};

/// What an attempt, or a requeue, waits for: nothing that the ranks do.
struct JournalWait {
  double time = 0;
  std::string job = {};
  int allocation = 0;
  std::string reason = {};  // empty: no longer
};

/// A pre-flight before a start.
struct JournalPreflight {
  double time = 0;
  std::string job = {};
  int allocation = 0;
  double seconds = 0;
  std::string unfit = {};  // host list; empty: all are fit
  std::string why = {};
};

/// The nodes of a start, in the order of their ranks, and the network they follow.
struct JournalNodes {
  double time = 0;
  std::string job = {};
  int allocation = 0;
  std::string order = {};    // host list
  std::string network = {};  // where its description comes from; empty: unknown
  std::vector<LevelCrossings> levels = {};
};

/// Ranks of the trainer held numbers that differed (docs/how-to/integrity.md). One line for each
/// rank whose numbers were wrong, or one without a rank.
struct JournalCorruption {
  double time = 0;
  std::string job = {};
  int allocation = 0;
  std::int64_t fencing_token = 0;  // of the start that found it
  std::int64_t step = 0;           // when it was found
  std::int64_t since = 0;          // last step before it on which all agreed
  std::vector<std::string> what = {};
  std::string how = {};  // majority | recomputed | pending | unknown
  int rank = -1;         // -1, and the next two empty: not known
  std::string host = {};
  std::string node = {};  // Slurm's name; empty: no job
  std::string line = {};  // in words
};

/// A run's recorded history.
struct Journal {
  /// An attempt without an end has Cause::cut_short.
  std::vector<Attempt> history = {};
  std::optional<JournalDecision> last = {};
  bool decided = false;        // `last` belongs to the newest attempt
  double last_time = 0;        // of any line; 0: none
  double attempt_began_s = 0;  // the newest; 0: none
  /// Consecutive requeues for unfit nodes since ranks last started.
  int put_back_for_nodes = 0;
  /// Jobs and the host lists that their requeues left out, oldest first.
  std::vector<std::pair<std::string, std::string>> excluded = {};
  std::vector<JournalCorruption> corruptions = {};
  std::optional<JournalNodes> nodes = {};  // of the newest start that chose an order
  std::optional<JournalRetry> retry = {};  // the newest
  std::optional<JournalWait> waits = {};   // now
  /// Attempts before it. What a person has mended is no sign of what comes next.
  std::size_t before_retry = 0;
};

/// Names this start of the run, where its job's number does not: see SupervisedRun::start_name.
inline constexpr const char* start_name_variable = "DLLAUNCH_START";

/// Parses a journal. Torn, foreign and newer lines are skipped.
Journal parse_journal(std::string_view text);
/// Whether the journal can be read now: a file system that is briefly away has not lost it.
bool is_readable(const RunDir& run);
/// Returns an empty journal if nothing was written yet.
Journal read_journal(const RunDir& run);

/// Returns why the supervisor gave up the run in that Slurm job; empty: it did not, or it wanted a
/// requeue.
std::string stopped_in(const Journal& journal, std::string_view job);

/// Returns how often the ranks were restarted in that Slurm job.
int restarts_in(const Journal& journal, std::string_view job);

std::string line_of(const JournalAttempt& begun);
std::string line_of(const JournalAttempt& begun, const Attempt& ended, double time);
/// Returns the line for an attempt that its own supervisor did not see end.
std::string line_of(const Attempt& ended, double time);
std::string line_of(const JournalPreflight& look);
std::string line_of(const JournalWait& wait);
std::string line_of(const JournalNodes& nodes);
std::string line_of(const JournalRetry& retry);
std::string line_of(const JournalCorruption& found);
std::string line_of(const JournalDecision& decision, std::optional<double> backoff_s);

/// Preallocates space for some hundred lines where possible: the reason for stopping on a full disk
/// must still be written.
void reserve_journal(const RunDir& run);

Result<Ok> append_to_journal(const RunDir& run, const std::string& line);

/// Returns the Slurm job in which the run ended for good; nullopt: none. The run must not start
/// again, however often Slurm starts the job.
std::optional<std::string> finished_in_job(const RunDir& run);
Result<Ok> mark_finished(const RunDir& run, const std::string& job);

/// "4 of 8 ring edges leave leaf switches (7 in Slurm's order); topology.conf"; empty: no network.
std::string words_of(const JournalNodes& nodes);

/// "restarted at 12:03:04: rank 1 on n2 was killed by signal 9 (SIGKILL); restart 1 of 3"
/// "held until 12:03: rank 1 on n2 exited with code 1 (ImportError: no module named x)"
std::string words_of(const JournalDecision& decision);

/// "waits since 12:03:04: node n3 does not answer, and the ranks make no progress"
std::string words_of(const JournalWait& wait);

/// "retried at 12:03:04 by process 4711 on login1: train.epochs: 1 -> 2"
std::string words_of(const JournalRetry& retry);

/// The same of a hold that goes on, with what to do: "...; fix it and run: dllaunch retry RUN".
std::string hold_words(const JournalDecision& hold, const RunDir& run);

}  // namespace dllaunch
