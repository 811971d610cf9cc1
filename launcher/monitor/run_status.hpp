// Everything `status` tells of one run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/monitor/run_state.hpp"
#include "launcher/run/summary.hpp"
#include "support/json.hpp"

namespace dllaunch {

struct LogState {
  std::string name;  // of the file in RUN/out
  int rank = -1;     // -1: of all ranks of its node
  std::string node;
  std::uint64_t bytes = 0;
  double quiet_s = 0;  // since something was written
};

struct RunStatusView {
  RunState run_state;
  std::vector<LogState> logs;   // by rank
  std::string checkpoint = {};  // the newest; empty: none
  std::optional<double> checkpoint_age_s = {};
  std::string supervisor = {};          // what it did last, and why; empty: nothing to tell
  int restarts = 0;                     // of the ranks
  std::vector<std::string> tasks = {};  // of an array: "0 completed", in order
  std::string daemon = {};              // what the daemon did about it; empty: nothing, or none
  RunTotals totals = {};                // of its events so far
  std::optional<double> goodput = {};   // so far; of a run that is over as its summary has it
};

/// Reads the run's directory. `now_s`: Unix seconds.
RunStatusView status_of(RunState run_state, double now_s);
/// The same with what its events came to, read already.
RunStatusView status_of(RunState run_state, RunTotals totals, double now_s);

std::string render_status(const RunStatusView& status);
Json to_json(const RunStatusView& status);

}  // namespace dllaunch
