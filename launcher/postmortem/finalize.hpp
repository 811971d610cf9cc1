// The end of a run: renders the failure, computes the summary and writes summary.json.
// It decides nothing about a restart and does not watch running ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/run/outcome.hpp"
#include "launcher/run/stored_run.hpp"
#include "launcher/run/summary.hpp"
#include "launcher/slurm/scontrol_parser.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// Returns the first error, then what died and how, what to change, and the log excerpt; empty if
/// all went well.
std::string render_failure(const Outcome& outcome);

/// Without books. `most_seconds`: upper bound on the time since submission or start, see
/// seconds_since_began().
Summary summary_of(const Outcome& outcome, const RunTotals& totals, int ranks, bool trains,
                   double most_seconds = RunTotals::no_bound);

/// The summary of a run that has just ended, with its books: what it cost, and all submissions
/// before it.
Summary final_summary(System& system, const StoredRun& run, const Outcome& outcome,
                      const RunTotals& totals);

/// The core-hours and GPU-hours so far of a run without a summary, and of all submissions before,
/// as keys of a summary. `seconds`: how long it has been running, if known, else 0.
Json all_hours_so_far(System& system, const StoredRun& run, double seconds);

/// Returns the text of summary.json.
std::string summary_text(const Summary& summary);

struct FinalState {
  Outcome outcome;
  Json summary;
  std::vector<SlurmJob> jobs = {};  // Slurm's records; empty: Slurm has forgotten the job
  std::string end_status = {};      // status the trainer reported; empty: none
};

/// Returns how a Slurm job ended, from its record and the run's events; nullopt if the run is not a
/// Slurm job or has not ended. Writes nothing. unavailable, timeout: Slurm does not respond, fully
/// or in part.
Result<std::optional<FinalState>> read_final_state(System& system, const StoredRun& run);

/// Writes summary.json for a Slurm job that ended while it was not followed. nullopt if the run has
/// not ended, another process follows it, the summary exists, or the run has another job by now.
/// unavailable, timeout: Slurm does not respond.
Result<std::optional<FinalState>> finalize_run(System& system, const StoredRun& run);

/// Writes summary.json of the job that `run` was read with: Slurm's answer takes seconds, in which
/// another process may have written it or submitted the next job. Then writes nothing. false: the
/// run has another job by now.
bool write_end(System& system, const StoredRun& run, const Json& summary);

/// Writes the summary that the latest submission lacks, so that the books of the next one cover it:
/// it was not followed to its end, or its dllaunch was killed. Call with the run's lock, before the
/// next one changes the directory. Returns whether that submission was a job that has completed.
bool close_submission(System& system, const RunDir& dir);

/// Returns "dllaunch run NAME", which continues the run from its last checkpoint.
std::string command_to_go_on(System& system, const RunDir& run);

}  // namespace dllaunch
