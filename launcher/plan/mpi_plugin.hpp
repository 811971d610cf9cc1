// How srun connects the ranks of an MPI program.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "launcher/cluster/facts.hpp"

namespace dllaunch {

/// The plugin for the built-in trainer: "pmix" if srun lists it, else its newest version
/// ("pmix_v5"). nullopt: the ranks meet over TCP, or mpirun has to start them.
std::optional<std::string> mpi_of_trainer(const SlurmFacts& slurm);

/// The plugin for a user's command, whose MPI is unknown: the cluster profile's, else the site's
/// MpiDefault, else the first of PMIx (Open MPI and others) and pmi2 (MPICH, Intel MPI) that srun
/// lists. nullopt: none of them; then mpirun starts the ranks with `framework: mpi`, and other
/// programs need none. cray_shasta is ignored, because every srun lists it.
std::optional<std::string> mpi_of_command(const SlurmFacts& slurm, std::string_view profile);

}  // namespace dllaunch
