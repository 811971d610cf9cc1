// The end of a run: what went wrong in words, what it came to as numbers, and who writes it down.
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

/// The first error first, then what died and how, what to change, and the lines of the log; empty
/// when all went well.
std::string render_failure(const Outcome& outcome);

/// `most_seconds`: that can have passed since the run was submitted or started,
/// seconds_since_began().
Summary summary_of(const Outcome& outcome, const RunTotals& totals, int ranks, bool trains,
                   double most_seconds = RunTotals::no_bound);

/// What an earlier run in the directory did is remembered, what this one did is added up.
RunTotals read_totals(const StoredRun& run);

/// The text of summary.json.
std::string summary_text(const Summary& summary);

struct FinalState {
  Outcome outcome;
  Json summary;
  std::vector<SlurmJob> jobs = {};  // as Slurm recorded them; empty: it has forgotten
  std::string end_status = {};      // the trainer's own last word; empty: it said none
};

/// How a Slurm job ended, from its record and the run's own events; writes nothing. Nothing when
/// the run is no job of Slurm's or is not over. unavailable, timeout: Slurm does not answer, in
/// whole or in part.
Result<std::optional<FinalState>> read_final_state(System& system, const StoredRun& run);

/// A Slurm job that ended while nobody followed: its summary.json is written now. Nothing when
/// the run is not over, somebody else follows it, or its summary is there already.
/// unavailable, timeout: Slurm does not answer.
Result<std::optional<FinalState>> finalize_run(System& system, const StoredRun& run);

/// "dllaunch run JOB --run-dir DIR": goes on from the last checkpoint.
std::string command_to_go_on(const StoredRun& run);

}  // namespace dllaunch
