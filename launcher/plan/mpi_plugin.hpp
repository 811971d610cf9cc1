// How srun lets the ranks of an MPI program find each other.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "launcher/cluster/facts.hpp"

namespace dllaunch {

/// What the built-in trainer needs, which is an Open MPI program: "pmix" where srun lists it, else
/// its newest version ("pmix_v5"). Absent: mpirun has to start the ranks.
std::optional<std::string> mpi_of_trainer(const SlurmFacts& slurm);

/// For a command of the user's, whose MPI nobody knows: the cluster profile's word, else the
/// site's (MpiDefault), else the first that srun lists of PMIx (Open MPI, and others) and pmi2
/// (MPICH, Intel MPI). Absent: none of them, so that with `framework: mpi` mpirun starts the ranks;
/// other programs need none. That srun lists cray_shasta says nothing: every srun does.
std::optional<std::string> mpi_of_command(const SlurmFacts& slurm, std::string_view profile);

}  // namespace dllaunch
