// Where the MPI module of dltrain is: the launcher and the ranks look alike, and load nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/rank/rank_env.hpp"

namespace dllaunch {

inline constexpr const char* mpi_module_variable = "DLLAUNCH_MPI_MODULE";

/// Returns the file that `dllaunch build-mpi-module` writes: in ~/.local/lib/dllaunch. Empty
/// without HOME.
std::string own_mpi_module(const EnvLookup& lookup);

/// Returns the files that may be the module, best first. DLLAUNCH_MPI_MODULE names the only one; if
/// it is empty there is none. Else they are the user's own, the one beside this program, and the
/// one in ../lib/dllaunch.
std::vector<std::string> mpi_module_places(const EnvLookup& lookup);

/// Returns the first of these places that has a file; what the variable names in any case.
std::optional<std::string> find_mpi_module(const EnvLookup& lookup);

}  // namespace dllaunch
