// NVIDIA's management library, for the few questions we have. Its names and structures are its own.
#pragma once

#include <string>

#include "topology/discovery/gpu_inventory.hpp"

namespace dllaunch {

/// Everything NVML says, in this process: it may crash or hang, so call it from a child.
VendorLibrary read_nvml(const std::string& file);

}  // namespace dllaunch
