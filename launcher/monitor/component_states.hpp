// What the components of a modular run do, for `status` and `report`.
#pragma once

#include <string>
#include <vector>

#include "launcher/monitor/run_state.hpp"
#include "support/json.hpp"

namespace dllaunch {

struct ComponentState {
  std::string name = {};
  std::string state = {};     // as RunState::state; pending with the whole
  std::string progress = {};  // as progress_words(); empty: nothing yet
  std::string reason = {};    // why it ended, or was started again; empty: unknown
  std::string where = {};     // a host list; empty: unknown
  std::string dir = {};
};

/// In the order of the job file; empty for a run without components. `whole`: its run, as observed,
/// with the queue's entries of all components.
std::vector<ComponentState> component_states(System& system, const RunState& whole, double now_s);

/// "trainer   running on n[3-4]: epoch 2/3 step 120"
std::vector<std::string> lines_of(const std::vector<ComponentState>& states);
Json to_json(const std::vector<ComponentState>& states);

}  // namespace dllaunch
