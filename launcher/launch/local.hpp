// Executes a plan on this machine, through mpirun or `dllaunch spawn`.
#pragma once

#include <string>
#include <vector>

#include "launcher/monitor/follow.hpp"
#include "launcher/os/system.hpp"
#include "launcher/postmortem/failure_summary.hpp"
#include "launcher/run/outcome.hpp"
#include "launcher/run/run_dir.hpp"

namespace dllaunch {

struct LaunchPlan;

/// The argv that loads the plan's modules, activates its environment and evaluates `setup`, as the
/// batch script does, and becomes `command`. `command` itself if there is nothing to do.
std::vector<std::string> prepared_command(const LaunchPlan& plan, const std::string& setup,
                                          const std::vector<std::string>& command);

/// unavailable: mpirun, or what the job file wants loaded first, is not here. Starts nothing.
Result<Ok> check_local(const LaunchPlan& plan, System& system);

/// Starts plan.start, shows it and waits for its end. SIGINT, SIGTERM and SIGHUP ask the ranks for
/// a checkpoint and an end: those that catch the plan's signal get it, others SIGTERM. After
/// grace_seconds, or at the second signal, the starter ends them; at the third they are killed.
/// When this returns no process, session directory or shared memory of the run is left.
/// unavailable: the starter cannot start.
Result<Outcome> execute_local(const LaunchPlan& plan, const RunDir& run, Follower& follower,
                              System& system);

/// What the ranks' and the starter's output say of an exit code that is not 0. `since_s`: Unix
/// seconds of the start; what the logs hold from before is an earlier run's.
Outcome explain_local(int exit_code, const RunDir& run, const StarterOutput& starter,
                      double since_s = 0);

}  // namespace dllaunch
