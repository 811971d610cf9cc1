// GPUs as NVIDIA's management library (NVML) reports them.
#pragma once

#include <string>

#include "topology/discovery/gpu_inventory.hpp"

namespace dllaunch {

/// Queries NVML in this process. It may crash or hang: call it in a child.
VendorLibrary read_nvml(const std::string& file);

}  // namespace dllaunch
