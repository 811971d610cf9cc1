#include "runtime/gpu/sensors/gpu_sensors.hpp"

#include <fmt/core.h>

#include <utility>

#include "runtime/gpu/sensors/nvml_sensors.hpp"
#include "runtime/gpu/sensors/rocm_smi_sensors.hpp"

namespace dllaunch {

Result<std::unique_ptr<GpuSensors>> GpuSensors::open(const std::string& pci,
                                                     const GpuLibraries& libraries) {
  auto nvidia = open_nvml_sensors(pci, libraries.nvml);
  if (nvidia) return nvidia;
  auto amd = open_rocm_smi_sensors(pci, libraries.rocm_smi);
  if (amd) return amd;
  return Error{
      ErrorKind::unavailable,
      fmt::format("no sensors for GPU {}: {}; {}", pci, nvidia.error().what, amd.error().what), ""};
}

}  // namespace dllaunch
