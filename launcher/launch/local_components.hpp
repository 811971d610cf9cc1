// Executes a modular job on this machine: a `dllaunch run --local` for each component, side by
// side.
#pragma once

#include <vector>

#include "launcher/components/machine_shares.hpp"
#include "launcher/monitor/follow.hpp"
#include "launcher/os/system.hpp"
#include "launcher/plan/modular_plan.hpp"
#include "launcher/run/outcome.hpp"
#include "launcher/run/run_dir.hpp"

namespace dllaunch {

/// `machine`: as the plans saw it. Starts the components on their shares of this machine, shows
/// them and waits for their end. SIGINT, SIGTERM and SIGHUP ask all of them to save and stop, as
/// execute_local().
Result<Outcome> execute_components(const ModularPlan& plan, const SharedMachine& machine,
                                   const RunDir& run, Follower& follower, System& system);

/// check_local() of each component; an error names it.
Result<Ok> check_local_components(const ModularPlan& plan, System& system);

}  // namespace dllaunch
