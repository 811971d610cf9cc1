// The hip backend on the host: its own kernels, descriptors and layouts, with fakes of MIOpen and
// rocBLAS that compute what they are asked. Also the backend table of a test program, next to
// `reference`.
#include <vector>

#include "tests/support/host_gpu/fake_libraries.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/backends/gpu/opening/gpu_opening.hpp"
#include "trainer/backends/hip/precisions.hpp"
#include "trainer/backends/table/backends.hpp"

extern "C" void dllaunch_open_hip(dllaunch::gpu::GpuOpening& opening);

namespace dllaunch {
namespace {

/// Offers one valid solution at a time, alternating, so that none is benchmarked: loops on a host
/// are slow. Tests share nothing: no cache.
Result<std::unique_ptr<Backend>> open() {
  static int turn = 0;
  auto& named = fake_miopen().solutions;
  named = FakeMiopen().solutions;
  std::erase(named, turn++ % 2 == 0 ? fake_direct : fake_implicit);
  gpu::GpuOpening opening{.rank = {}, .lookup = [](const std::string&) { return std::nullopt; }};
  dllaunch_open_hip(opening);
  return *std::move(opening.opened);
}

std::string version() {
  return "fakes of MIOpen and rocBLAS";
}

}  // namespace

extern const BackendEntry reference_backend;

std::span<const BackendEntry> backends() {
  static const BackendEntry table[] = {{.name = "hip",
                                        .device = "hip",
                                        .version = version,
                                        .open = open,
                                        .precisions = hip::precisions,
                                        .gpu_memory = true,
                                        .caution = "a host in place of a GPU"},
                                       reference_backend};
  return table;
}

}  // namespace dllaunch
