// Reads what was measured of a run that has ended.
#pragma once

#include "launcher/os/system.hpp"
#include "launcher/plan/run_outline.hpp"
#include "launcher/run/books.hpp"
#include "launcher/run/outcome.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/run/summary.hpp"

namespace dllaunch {

/// Seconds that interruptions cost, as goodput counts them (history.hpp): the step time that was
/// lost, and the down times up to the first step's beginning. 0 without a restart; nullopt if there
/// was one of which events tell nothing, as with `run:`. A hold without a retry is not in it.
std::optional<double> wasted_seconds(const History& history, int restarts);

/// The hours of the newest submission so far. `seconds`: how long it has been running, if known,
/// else 0.
Books hours_so_far(const RunOutline& plan, const RunDir& dir, double seconds,
                   const History& history);

/// The nodes that the newest submission had on average over `seconds`, spare ones too.
double nodes_held(const RunOutline& plan, const RunDir& dir, double seconds);

/// Of the newest submission alone. `summary`: of the same run, without books. Asks Slurm's
/// accounting; what does not answer is unknown.
Books read_books(System& system, const RunOutline& plan, const RunDir& dir, const Outcome& outcome,
                 const Summary& summary, const History& history);

}  // namespace dllaunch
