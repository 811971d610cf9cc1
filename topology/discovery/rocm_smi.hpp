// GPUs as AMD's management library (ROCm SMI) reports them.
#pragma once

#include <string>

#include "topology/discovery/gpu_inventory.hpp"

namespace dllaunch {

/// Queries ROCm SMI in this process. It may crash or hang: call it in a child.
VendorLibrary read_rocm_smi(const std::string& file);

}  // namespace dllaunch
