// AMD's management library, for the few questions we have. Its names are its own.
#pragma once

#include <string>

#include "topology/discovery/gpu_inventory.hpp"

namespace dllaunch {

/// Everything ROCm SMI says, in this process: it may crash or hang, so call it from a child.
VendorLibrary read_rocm_smi(const std::string& file);

}  // namespace dllaunch
