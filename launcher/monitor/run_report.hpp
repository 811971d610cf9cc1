// A report on a run: its summary, and how its ranks spent their time.
#pragma once

#include <string>
#include <vector>

#include "launcher/monitor/run_state.hpp"
#include "launcher/os/system.hpp"
#include "launcher/run/stored_run.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// Returns the last `ranks` event that counts (history.hpp), as the trainer wrote it; null: none.
Json last_ranks_event(const std::string& events_path);

/// Where a run ran.
struct RunPlaces {
  std::vector<std::string> jobs;  // Slurm's ids, in order; empty: not on Slurm
  std::string nodes;              // on which its ranks ran last, as a host list; empty: none
  std::string network = {};       // how the ring of its nodes lies in the network; empty: unknown
  std::vector<std::string> corrupted = {};  // whose numbers were wrong, in words; empty: none
  std::string sizes = {};                   // "ranks 4, then 3"; empty: their number did not change
};
RunPlaces places_of(const StoredRun& run);

/// What a run that is running has cost so far, as keys of a summary: hours alone; null: it is not
/// running, or has a summary.
Json cost_so_far(System& system, const RunState& run_state);

/// Renders the report. `ranks`: from last_ranks_event(), `so_far`: cost_so_far(); may be null.
/// Missing parts are left out.
std::string render_run_report(const StoredRun& run, const RunPlaces& places, const Json& ranks,
                              const Json& so_far = {});

}  // namespace dllaunch
