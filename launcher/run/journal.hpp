// RUN/supervisor.jsonl: what the supervisors of a run saw and decided, a line each.
//
//   {"time": 1.5, "event": "attempt", "job": "17", "allocation": 0, "attempt": 1, "generation": 3}
//   {"time": 9.5, "event": "ended", ..., "cause": "failed", "exit_code": 1, "reason": "rank 1 ..."}
//   {"time": 9.5, "event": "decision", ..., "next": "restart", "reason": "...; restart 1 of 3"}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/run/attempt.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/run/summary.hpp"

namespace dllaunch {

struct JournalAttempt {
  double time = 0;  // Unix seconds, as in all of them
  std::string job = {};
  int allocation = 0;
  int attempt = 1;  // in this allocation
  std::int64_t fencing_token = 0;
  std::string checkpoint = {};  // the newest when it began; empty: none
};

struct JournalDecision {
  double time = 0;
  std::string job = {};
  int allocation = 0;
  Next next = Next::stop;
  std::string reason = {};
  RunStatus status = RunStatus::failed;
  int exit_code = 1;  // of a stop
  /// A stop for want of anything better: Slurm did not put the job back into the queue. Whoever
  /// looks after the run from outside may submit it again.
  bool wanted_requeue = false;
  std::string exclude = {};  // of a requeue: not on these nodes again
};

/// A look at the nodes before a start.
struct JournalPreflight {
  double time = 0;
  std::string job = {};
  int allocation = 0;
  double seconds = 0;
  std::string unfit = {};  // a host list; empty: all are fit
  std::string why = {};
};

/// What is remembered of a run.
struct Journal {
  /// One that was begun and has no end is Cause::cut_short.
  std::vector<Attempt> history = {};
  std::optional<JournalDecision> last = {};
  bool decided = false;  // `last` is about the newest attempt
  double last_time = 0;  // of any line; 0: none
  /// Put back for nodes that were not fit, in a row, since ranks were started last.
  int put_back_for_nodes = 0;
};

/// Reads a journal's text: lines that are torn, foreign or of a newer version are passed over.
Journal parse_journal(std::string_view text);
/// Whether it can be known now what was written: a file system that is away for a moment has not
/// forgotten it.
bool is_readable(const RunDir& run);
/// Nothing was written yet: empty.
Journal read_journal(const RunDir& run);

/// Why the supervisor gave the run up in that job, by Slurm's number; empty: it has not, or would
/// have had it back in the queue.
std::string stopped_in(const Journal& journal, std::string_view job);

/// Starts of the ranks after the first one in that job, by Slurm's number.
int restarts_in(const Journal& journal, std::string_view job);

std::string line_of(const JournalAttempt& begun);
std::string line_of(const JournalAttempt& begun, const Attempt& ended, double time);
/// Of one whose own supervisor was cut short.
std::string line_of(const Attempt& ended, double time);
std::string line_of(const JournalPreflight& look);
std::string line_of(const JournalDecision& decision, std::optional<double> backoff_s);

/// Takes room for some hundred lines more, where the file system can: why a run stops for a full
/// disk is to be written too.
void reserve_journal(const RunDir& run);

Result<Ok> append_to_journal(const RunDir& run, const std::string& line);

/// The job, by Slurm's number, in which the run came to its end; nothing: in none. It is not to run
/// again however often Slurm starts it.
std::optional<std::string> finished_in_job(const RunDir& run);
Result<Ok> mark_finished(const RunDir& run, const std::string& job);

/// "restarted at 12:03:04: rank 1 on n2 was killed by signal 9 (SIGKILL); restart 1 of 3"
std::string words_of(const JournalDecision& decision);

}  // namespace dllaunch
