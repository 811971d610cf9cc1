// The hip backend's table entry, compiled into dltrain; loads the module that needs ROCm.
#include <cstdlib>
#include <string>
#include <utility>

#include "runtime/gpu/drivers.hpp"
#include "trainer/backends/gpu/opening/gpu_module.hpp"
#include "trainer/backends/hip/miopen_folder.hpp"
#include "trainer/backends/hip/precisions.hpp"

namespace dllaunch {
namespace {

Result<std::unique_ptr<Backend>> open() {
  auto driver = amd_driver();
  if (!driver) {
    Error none = gpu::no_gpu("no GPU: " + driver.error().what);
    if (!driver.error().hint.empty()) none.hint = driver.error().hint;
    return none;
  }
  for (const auto& [name, value] : hip::miopen_variables(process_environment())) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  return gpu::open_module(
      {.file = "libdltrain_hip.so", .entry = "dllaunch_open_hip", .needs = DLLAUNCH_HIP_VERSIONS});
}

std::string version() {
  return DLLAUNCH_HIP_VERSIONS;
}

}  // namespace

extern const BackendEntry hip_backend;
const BackendEntry hip_backend{
    .name = "hip",
    .device = "hip",
    .version = version,
    .open = open,
    .expected = has_amd_driver,
    .precisions = hip::precisions,
    .gpu_memory = DLLAUNCH_HAS_RCCL != 0,  // only RCCL reduces it
    .caution =
        "backend hip has never run on a GPU: compare its losses with device cpu before you trust "
        "them (docs/explanation/gpu.md)"};

}  // namespace dllaunch
