// Pre-flight: are the nodes of a job fit to start it, or to start it again? In seconds, as an
// ordinary user, without touching what runs.
//
//   auto request = observe_preflight_request(world, run_dir);   // this allocation, this run
//   request->hosts = nodes_still_in_use;                        // optional
//   auto report = preflight(world, *request);
//   if (!report) ...                  // nothing was found out: no srun, no node answers at all
//   if (!all_ok(*report)) ...         // report->exclude names whom to leave out, nodes[i].checks
//   why
//
// Blocks for one to five seconds where all is well, and for `patience` and three seconds more at
// the worst. Starts one job step beside whatever runs (--overlap), which ends with the call.
#pragma once

#include "launcher/os/system.hpp"
#include "launcher/preflight/report.hpp"

namespace dllaunch {

/// Looks at every one of request.hosts and judges them together. One host that is this machine is
/// looked at right here; more are asked by one srun, which needs request.job_id. A node that does
/// not answer in time fails the check "answer".
/// unavailable: srun cannot start, or no node answers, with srun's own words.
/// bad_request: no host, a check to skip that there is not, or several hosts without a job.
Result<PreflightReport> preflight(System& system, const PreflightRequest& request);

/// One node's part, which srun starts there: looks at this node and prints what it saw.
Result<Ok> answer_preflight(System& system, const std::string& request_text);

}  // namespace dllaunch
