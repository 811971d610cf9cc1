// Pre-flight: finds out in seconds, as an ordinary user, whether the nodes of a job are fit to
// start or restart it.
// It does not disturb running ranks and excludes no node itself: report->exclude names the nodes to
// avoid.
//
//   auto request = observe_preflight_request(world, run_dir);   // this allocation, this run
//   request->hosts = nodes_still_in_use;                        // optional
//   auto report = preflight(world, *request);
//   if (!report) ...             // no result: srun failed, or no node answered
//   if (!all_ok(*report)) ...    // report->exclude: nodes to avoid; nodes[i].checks: why
//
// Blocks for one to five seconds on healthy nodes, at most three seconds longer than `patience`.
// Runs one job step beside running steps (--overlap), which ends with the call.
#pragma once

#include "launcher/os/system.hpp"
#include "launcher/preflight/report.hpp"

namespace dllaunch {

/// Checks every host of request.hosts and judges them together. A single host that is this machine
/// is checked locally; others through one srun, which needs request.job_id. A node that does not
/// answer in time fails the check "answer". unavailable: srun cannot start, or no node answers;
/// includes srun's message. bad_request: no host, an unknown check in `skip`, or several hosts
/// without a job.
Result<PreflightReport> preflight(System& system, const PreflightRequest& request);

/// One node's part, started by srun: checks this node and prints the observations.
Result<Ok> answer_preflight(System& system, const std::string& request_text);

}  // namespace dllaunch
