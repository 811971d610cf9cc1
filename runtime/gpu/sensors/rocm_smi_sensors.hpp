// The sensors of an AMD GPU through ROCm SMI.
#pragma once

#include "runtime/gpu/sensors/gpu_sensors.hpp"

namespace dllaunch {

/// unavailable: no such library, no driver, or no GPU at `pci`.
Result<std::unique_ptr<GpuSensors>> open_rocm_smi_sensors(const std::string& pci,
                                                          const std::string& file);

}  // namespace dllaunch
