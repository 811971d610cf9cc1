// The GPU backends' common source as a backend on the host, and the backend table of a test
// program, next to `reference`: the tests of every backend run on it too.
#include "tests/support/host_gpu/host_math.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"
#include "trainer/backends/gpu/precisions.hpp"
#include "trainer/backends/gpu/step/gpu_executable.hpp"
#include "trainer/backends/table/backends.hpp"

namespace dllaunch {
namespace {

class HostGpuBackend final : public Backend {
 public:
  Result<std::unique_ptr<Executable>> compile(const Graph& graph,
                                              const CompileOptions& options) override {
    const auto& book = gpu::host_engines().book;
    const auto math = book ? gpu::make_host_engines(book) : gpu::make_host_math();
    return gpu::compile_for_gpu("host_gpu", graph, options, *math);
  }
  std::optional<std::int64_t> free_memory() const override {
    return static_cast<std::int64_t>(gpu::free_bytes());
  }
};

Result<std::unique_ptr<Backend>> open() {
  return std::unique_ptr<Backend>(std::make_unique<HostGpuBackend>());
}

std::string version() {
  return "the host in place of a GPU";
}

}  // namespace

extern const BackendEntry reference_backend;

std::span<const BackendEntry> backends() {
  static const BackendEntry table[] = {{.name = "host_gpu",
                                        .device = "cpu",
                                        .version = version,
                                        .open = open,
                                        .precisions = gpu::precisions,
                                        .gpu_memory = true,
                                        .caution = "a host in place of a GPU"},
                                       reference_backend};
  return table;
}

}  // namespace dllaunch
