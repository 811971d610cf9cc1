// Everything `status` shows about a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/monitor/component_states.hpp"
#include "launcher/monitor/run_state.hpp"
#include "launcher/run/summary.hpp"
#include "support/json.hpp"

namespace dllaunch {

struct LogState {
  std::string name;  // file name in RUN/out
  int rank = -1;     // -1: all ranks of its node
  std::string node;
  std::uint64_t bytes = 0;
  double quiet_s = 0;  // seconds since the last write
};

struct RunStatusView {
  RunState run_state;
  std::vector<LogState> logs;   // by rank
  std::string checkpoint = {};  // newest; empty: none
  std::optional<double> checkpoint_age_s = {};
  std::string supervisor = {};                  // last action and reason; empty: none
  std::vector<std::string> ranks = {};          // that left the others alone, or wait for srun
  std::string stacks = {};                      // of ranks that hung; empty: none were kept
  std::string corrupted = {};                   // ranks whose numbers were wrong; empty: none
  int restarts = 0;                             // of the ranks
  std::vector<std::string> tasks = {};          // of an array: "0 completed", in order
  std::vector<ComponentState> components = {};  // of a modular run
  std::string next = {};                        // command that continues the run; empty: none
  std::string daemon = {};                      // last action of the daemon; empty: none
  RunTotals totals = {};                        // of the events so far
  std::optional<double> goodput = {};           // so far; for an ended run, from its summary
};

/// Reads the run's directory. `now_s`: Unix seconds.
RunStatusView status_of(RunState run_state, double now_s);
/// The same with totals already computed.
RunStatusView status_of(RunState run_state, RunTotals totals, double now_s);

std::string render_status(const RunStatusView& status);
Json to_json(const RunStatusView& status);

}  // namespace dllaunch
