// The sensors of an NVIDIA GPU through NVML.
#pragma once

#include "runtime/gpu/sensors/gpu_sensors.hpp"

namespace dllaunch {

/// unavailable: no such library, no driver, or no GPU at `pci`.
Result<std::unique_ptr<GpuSensors>> open_nvml_sensors(const std::string& pci,
                                                      const std::string& file);

}  // namespace dllaunch
