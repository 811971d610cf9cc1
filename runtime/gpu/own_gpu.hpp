// GPU: which GPU a rank drives, whether its driver is there, and one set of names for CUDA and HIP.
// Has no kernels and no collectives: trainer/backends and runtime/communicators/nccl do.
//
// Makes the rank's own GPU current in this thread. For modules: it calls the vendor's runtime,
// which the include path selects.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "gpu_api.hpp"
#include "runtime/gpu/device_choice.hpp"

namespace dllaunch {

/// Returns the GPUs that the runtime sees. unavailable: "no GPU: CUDA: ...", for example if the
/// driver is too old.
inline Result<std::vector<SeenGpu>> seen_gpus() {
  const auto none = [](std::string_view why, const char* advice = "") {
    return Error{ErrorKind::unavailable, fmt::format("no GPU: {}: {}", gpu_vendor_api, why),
                 advice};
  };
  int driver = 0;
  if (gpu_driver_version(driver) == gpu_success && driver > 0) {
    if (auto problem = version_problem({.name = fmt::format("a driver for {}", gpu_vendor_api),
                                        .found = driver,
                                        .needed = gpu_built_with,
                                        .units = gpu_version_units,
                                        .is_driver = true})) {
      return none(problem->what);
    }
  }
  int count = 0;
  const GpuStatus status = gpu_count_devices(count);
  if (status != gpu_success) return none(gpu_words(status), gpu_advice(status));
  std::vector<SeenGpu> seen(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const GpuStatus told = gpu_pci_address(i, seen[static_cast<std::size_t>(i)].pci);
    if (told != gpu_success) return none(gpu_words(told), gpu_advice(told));
  }
  if (seen.empty()) return none("none is visible");
  return seen;
}

/// Makes the rank's GPU current. unavailable also if another process holds it in an exclusive
/// compute mode.
inline Result<int> take_own_gpu(const GpuWish& wish) {
  auto seen = seen_gpus();
  if (!seen) return std::move(seen).error();
  auto device = choose_gpu(*seen, wish);
  if (!device) return std::move(device).error().within("no GPU");
  const GpuStatus taken = gpu_set_device(*device);
  if (taken == gpu_success) return device;
  return Error{
      ErrorKind::unavailable,
      fmt::format("GPU {}: {}", (*seen)[static_cast<std::size_t>(*device)].pci, gpu_words(taken)),
      gpu_advice(taken)};
}

/// Returns the PCI address that other libraries identify it by, "0000:c1:00.0"; empty if unknown.
inline std::string address_of_gpu(int device) {
  std::string address;
  return gpu_pci_address(device, address) == gpu_success ? plain_pci_address(address) : "";
}

}  // namespace dllaunch
