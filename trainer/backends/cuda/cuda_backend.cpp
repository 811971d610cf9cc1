// The cuda backend's table entry, compiled into dltrain; loads the module that needs CUDA.
#include <string>
#include <utility>

#include "runtime/gpu/drivers.hpp"
#include "trainer/backends/gpu/opening/gpu_module.hpp"
#include "trainer/backends/gpu/precisions.hpp"

namespace dllaunch {
namespace {

Result<std::unique_ptr<Backend>> open() {
  auto driver = nvidia_driver();
  if (!driver) return gpu::no_gpu("no GPU: " + driver.error().what);
  return gpu::open_module({.file = "libdltrain_cuda.so",
                           .entry = "dllaunch_open_cuda",
                           .needs = DLLAUNCH_CUDA_VERSIONS});
}

std::string version() {
  return DLLAUNCH_CUDA_VERSIONS;
}

}  // namespace

extern const BackendEntry cuda_backend;
const BackendEntry cuda_backend{
    .name = "cuda",
    .device = "cuda",
    .version = version,
    .open = open,
    .expected = has_nvidia_driver,
    .precisions = gpu::precisions,
    .gpu_memory = DLLAUNCH_HAS_NCCL != 0,  // only nccl reduces it
    .caution =
        "backend cuda has been tested on one GPU only, an NVIDIA H100: on others, compare its "
        "losses with device cpu before you trust them (docs/explanation/gpu.md)"};

}  // namespace dllaunch
