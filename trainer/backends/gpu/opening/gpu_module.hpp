// dltrain's part of a GPU backend: loads the module, a shared library beside the program.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "support/shared_library.hpp"
#include "trainer/backends/backend.hpp"

namespace dllaunch::gpu {

struct GpuModule {
  std::string file = {};   // "libdltrain_cuda.so"
  std::string entry = {};  // extern "C" void entry(GpuOpening&)
  std::string needs = {};  // names and versions of the libraries it was built with
};

/// Returns an `unavailable` error that suggests device cpu.
Error no_gpu(std::string what);

/// Loads the module and opens its backend. The module stays loaded. It pulls in hundreds of
/// megabytes of libraries, so check for a driver first. unavailable, in one line: a library is
/// missing (with the versions that this build needs), or the error of the module.
Result<std::unique_ptr<Backend>> open_module(const GpuModule& module,
                                             const std::filesystem::path& folder = own_folder());

}  // namespace dllaunch::gpu
