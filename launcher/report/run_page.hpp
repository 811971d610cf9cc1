// A run as one HTML page.
#pragma once

#include <optional>
#include <string>

#include "launcher/autopsy/stored_stacks.hpp"
#include "launcher/drawing/page.hpp"
#include "launcher/monitor/run_report.hpp"
#include "launcher/report/rank_times.hpp"
#include "launcher/report/run_series.hpp"
#include "launcher/report/stored_placement.hpp"
#include "launcher/run/stored_run.hpp"

namespace dllaunch {

/// Everything that the page shows.
struct RunForPage {
  StoredRun run;
  RunPlaces places;
  RunSeries series;
  RankTimes times;
  StoredPlacement stored;
  std::string job_file;                // as resolved; empty: unreadable
  std::optional<StoredStacks> stacks;  // the newest
  std::string next;                    // command that continues it
  Json so_far;                         // cost_so_far(); null: it is not running
};

/// Without `so_far`.
RunForPage read_run_for_page(System& system, StoredRun run);

/// Pure. A section without anything to show is left out.
Page run_page(const RunForPage& record);

}  // namespace dllaunch
