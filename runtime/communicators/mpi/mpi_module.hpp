// The MPI library, which dltrain calls through a module that is compiled for one MPI.
#pragma once

#include <string>
#include <string_view>

#include "runtime/communicators/mpi/module/mpi_table.h"
#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

struct MpiModule {
  std::string path = {};
  const MpiTable* table = nullptr;
  std::string fits = {};     // "Open MPI 4.1.4"; empty if it cannot be loaded
  std::string library = {};  // what it finds here: "Open MPI v5.0.11"
  std::string problem = {};  // why it cannot be used; names the path
};

/// Loads a module, for good, and its MPI library, without starting MPI.
MpiModule open_mpi_module(const std::string& path);

/// Loads the module of this process. All callers share one. unavailable: there is none, or it
/// cannot be used here.
Result<const MpiModule*> load_mpi(const EnvLookup& lookup);

/// Returns the loaded module's functions. Only after load_mpi().
const MpiTable& mpi();

/// Returns the start of MPI's text about itself, in one line: "Open MPI v4.1.4".
std::string library_name(std::string_view text);

/// True unless what a module was compiled with and the library are known not to fit. The releases
/// of Open MPI have one file name and differ in their types; what has MPICH's ABI has many names.
bool fits_library(std::string_view compiled_with, std::string_view library);

}  // namespace dllaunch
