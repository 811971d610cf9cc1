// Executes a plan inside a Slurm allocation that is there already: salloc's, or a batch job's.
#pragma once

#include <string>

#include "launcher/job/node_numbering.hpp"
#include "launcher/monitor/follow.hpp"
#include "launcher/os/system.hpp"
#include "launcher/run/outcome.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/slurm/allocation.hpp"

namespace dllaunch {

struct LaunchPlan;

/// The allocation around this process, or the part of it that `nodes`, a host list, names. With
/// `order` automatic, all its nodes are along the network, so that its first ones are near each
/// other; what is named stays as it is. `network`: as the cluster's profile describes it.
/// bad_request: there is none, or it does not have these nodes.
Result<JobAllocation> allocation_here(System& system, const std::string& nodes,
                                      NodeNumbering order = NodeNumbering::automatic,
                                      const Json& network = {});

/// Fits a plan for Slurm into the allocation: its ranks start on the first nodes, and what belongs
/// to a job of its own is left out: requeueing, which would end the whole allocation, and spare
/// nodes beyond those that are there. The run is this process's, as one without Slurm is.
/// `allocation` keeps the nodes that the plan uses. bad_request: a job array. unsatisfiable: too
/// few nodes.
Result<Ok> fit_into(JobAllocation& allocation, LaunchPlan& plan);

/// Starts the plan's job script on this host, follows it and waits for its end. SIGINT, SIGTERM and
/// SIGHUP ask the ranks to save and stop; a second signal, or recovery.grace_seconds, ends them.
/// unavailable: the script cannot be written or started.
Result<Outcome> execute_allocated(const LaunchPlan& plan, const RunDir& run,
                                  const JobAllocation& allocation, Follower& follower,
                                  System& system);

}  // namespace dllaunch
