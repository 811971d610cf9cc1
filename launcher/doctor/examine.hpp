// From processes on this node to a report: observe, find the siblings, diagnose.
#pragma once

#include "launcher/doctor/report.hpp"
#include "launcher/os/system.hpp"

namespace dllaunch {

/// `bench`: measures as well what a wrong binding costs, from the ranks' CPUs.

/// This process, as its shell is bound, and the node itself.
Result<Report> examine_here(System& system, bool bench);

/// Process `pid` and, where it is a rank, the other ranks of its job on this node.
/// bad_request: there is no such process.
Result<Report> examine_process(System& system, int pid, bool bench);

/// Every rank on this node of every step of Slurm job `job_id`, that of the caller left out.
Result<Report> examine_job(System& system, const std::string& job_id, bool bench);

}  // namespace dllaunch
