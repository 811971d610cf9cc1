// Examines processes on this node: observes them, finds the job's other ranks, diagnoses.
#pragma once

#include "launcher/doctor/report.hpp"
#include "launcher/os/system.hpp"

namespace dllaunch {

/// `bench`: also measures what a wrong binding costs, from the ranks' CPUs.

/// Examines this process, with its shell's binding, and the node.
Result<Report> examine_here(System& system, bool bench);

/// Examines process `pid` and, if it is a rank, the other ranks of its job on this node.
/// bad_request: no such process.
Result<Report> examine_process(System& system, int pid, bool bench);

/// Examines every rank of all steps of Slurm job `job_id` on this node, except the caller's step.
Result<Report> examine_job(System& system, const std::string& job_id, bool bench);

}  // namespace dllaunch
