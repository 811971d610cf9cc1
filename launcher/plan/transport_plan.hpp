// Whether MPI starts the ranks, and how those of the built-in trainer exchange messages.
#pragma once

#include <string>

#include "launcher/plan/plan.hpp"

namespace dllaunch {

/// Returns what the job file says: DLLAUNCH_TRANSPORT in environment.variables, else
/// runtime.transport. auto: the launcher decides.
std::string wanted_transport(const Job& job);

/// Whether the framework of the job's command exchanges messages through MPI.
bool meets_over_mpi(const Job& job);

/// bad_request: a command that needs MPI, with transport tcp.
Result<Ok> check_transport(const Job& job);

/// Whether the ranks start without MPI, whatever starts them: as the job says, or because the
/// trainer would find no MPI module.
bool starts_without_mpi(const Job& job, const Facts& facts);

/// Whether mpirun starts the ranks on this machine; otherwise `dllaunch spawn` does.
bool starts_by_mpirun(const Job& job, const Facts& facts);

/// Sets plan.transport and its reason: of a trainer with several ranks, from the start command.
void name_transport(const Job& job, const Facts& facts, LaunchPlan& plan);

}  // namespace dllaunch
