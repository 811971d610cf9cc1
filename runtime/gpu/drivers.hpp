// Whether a GPU's driver is on this machine: asked before a vendor's libraries are loaded, which
// are large and of no use without.
#pragma once

#include <string>

#include "support/result.hpp"

namespace dllaunch {

/// Of NVIDIA's driver only its own library is needed. unavailable: there is none, in the loader's
/// words.
Result<Ok> nvidia_driver();

/// AMD's is part of the kernel: the file through which HIP reaches it. unavailable: there is none,
/// or this user may not open it.
Result<Ok> amd_driver(const std::string& device = "/dev/kfd");

/// May this machine have such a GPU, whoever may use it?
bool has_nvidia_driver();
bool has_amd_driver();

}  // namespace dllaunch
