// The MPI modules of dltrain: dllaunch itself loads no MPI library.
#pragma once

#include <string>
#include <string_view>

#include "launcher/os/system.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// Returns what dltrain says of the module `path`: {path, fits, library, problem}. `problem` is
/// there if it cannot be used.
Json describe_mpi_module(System& system, const std::string& path);

/// Returns the same of every module that dltrain would find here. It uses the first.
Json mpi_modules(System& system);

/// The sources of the module, as the build embeds them.
std::string_view mpi_module_source();
std::string_view mpi_module_table();

}  // namespace dllaunch
