// Checks for a GPU driver before loading the vendor's large libraries, which are useless without
// one.
#pragma once

#include <string>

#include "support/result.hpp"

namespace dllaunch {

/// Loads the library of NVIDIA's driver. unavailable: it is missing; has the loader's message.
Result<Ok> nvidia_driver();

/// Opens AMD's driver: the kernel device that HIP uses. unavailable: there is none, or this user
/// may not open it.
Result<Ok> amd_driver(const std::string& device = "/dev/kfd");

/// Whether this machine may have such a GPU, whether or not this user may use it.
bool has_nvidia_driver();
bool has_amd_driver();

}  // namespace dllaunch
