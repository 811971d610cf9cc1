// dltrain's side of a GPU backend: a module beside the program, loaded where there is a driver.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "trainer/backends/backend.hpp"

namespace dllaunch::gpu {

struct GpuModule {
  std::string file = {};   // "libdltrain_cuda.so"
  std::string entry = {};  // extern "C" void entry(GpuOpening&)
  std::string needs = {};  // the libraries that it was built with, and their versions
};

/// unavailable, with what to use instead.
Error no_gpu(std::string what);

/// The folder of this program.
std::filesystem::path own_folder();

/// Loads the module, which stays loaded: the backend's code is in it. Hundreds of megabytes come
/// with it, so callers look for a driver first. unavailable, in one line: a library that is not
/// here, with the versions that this build needs; or what the module itself found missing.
Result<std::unique_ptr<Backend>> open_module(const GpuModule& module,
                                             const std::filesystem::path& folder = own_folder());

}  // namespace dllaunch::gpu
