// What the ranks' logs say about a failure: the first error, what to change, the lines to read.
#pragma once

#include <string>

#include "launcher/run/failure.hpp"
#include "launcher/run/outcome.hpp"
#include "launcher/run/run_dir.hpp"

namespace dllaunch {

/// Output of mpirun or the batch script, used if the ranks' logs say nothing.
struct StarterOutput {
  std::string path;
  std::string text;
};

/// Returns whether a log shows an error. Fills log and excerpt, and first_error and advice if there
/// are none yet. `since_s`: Unix seconds of the start; logs untouched since then belong to an
/// earlier run.
bool add_failure_summary(const RunDir& run, const DeadRank& dead, double since_s,
                         const StarterOutput& starter, Outcome& outcome);

/// Of ranks that were ended because they made no progress: which one held up the others, by the
/// stacks that were kept since `since_s`, the start of the attempt, and where all of them lie. To
/// be called before add_failure_summary(), as such ranks are killed, which points to nothing else,
/// and after add_stall(), which knows less.
void add_stacks(const RunDir& run, double since_s, Outcome& outcome);

/// Of a run that completed: its last words, if these are a traceback; empty: they are not. It does
/// not make the run a failed one. `since_s`: Unix seconds of the start.
std::string words_of_traceback(const RunDir& run, double since_s);

/// Adds to the reason which ranks had ended well before the others, which may have waited for them.
/// `since_s`: Unix seconds of the start.
void add_who_left(const RunDir& run, double since_s, Outcome& outcome);

/// Adds the ranks' last watchdog report of a failed run if it was still pending. A stall that ended
/// the job is the cause, whichever rank was killed for it. A death is added only if no log has an
/// error.
void add_stall(const RunDir& run, const RunTotals& totals, Outcome& outcome);

}  // namespace dllaunch
