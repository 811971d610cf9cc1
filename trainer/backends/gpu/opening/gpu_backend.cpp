#include "trainer/backends/gpu/opening/gpu_backend.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "runtime/gpu/own_gpu.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"
#include "trainer/backends/gpu/step/gpu_executable.hpp"

namespace dllaunch::gpu {
namespace {

class GpuBackend final : public Backend {
 public:
  GpuBackend(const GpuVendor& vendor, std::string pci, std::unique_ptr<MathLibrary> math)
      : name_(vendor.backend),
        precisions_(vendor.precisions.begin(), vendor.precisions.end()),
        pci_(std::move(pci)),
        math_(std::move(math)) {}

  Result<std::unique_ptr<Executable>> compile(const Graph& graph,
                                              const CompileOptions& options) override {
    if (std::ranges::find(precisions_, options.precision) == precisions_.end()) {
      std::vector<std::string_view> names;
      for (const Precision one : precisions_) names.push_back(to_string(one));
      return Error{
          ErrorKind::bad_request,
          fmt::format("backend {} has no precision {}", name_, to_string(options.precision)),
          fmt::format("it has {}", fmt::join(names, ", "))};
    }
    return compile_for_gpu(name_, graph, options, *math_);
  }
  std::string gpu() const override { return pci_; }
  std::optional<std::int64_t> free_memory() const override {
    return static_cast<std::int64_t>(free_bytes());
  }

 private:
  std::string name_;
  std::vector<Precision> precisions_;
  std::string pci_;
  std::unique_ptr<MathLibrary> math_;
};

/// Returns what the engines of a library depend on, beside its build.
std::string machine_of(int device) {
  std::string properties;
  int driver = 0;
  if (gpu_properties(device, properties) != gpu_success) properties = "unknown";
  if (gpu_driver_version(driver) != gpu_success) driver = 0;
  return fmt::format("{},driver{}", properties, driver);
}

}  // namespace

Result<std::unique_ptr<Backend>> open_gpu_backend(const GpuVendor& vendor,
                                                  const GpuOpening& opening) {
  for (const LibraryVersion& library : vendor.libraries) {
    if (auto problem = version_problem(library)) return *std::move(problem);
  }
  auto device = take_own_gpu(read_gpu_wish(opening.rank, opening.lookup));
  if (!device) return std::move(device).error();
  auto math = vendor.open_math(
      shared_engine_book(opening.lookup, machine_of(*device) + "," + vendor.engines));
  if (!math) return std::move(math).error();
  return std::unique_ptr<Backend>(
      std::make_unique<GpuBackend>(vendor, address_of_gpu(*device), *std::move(math)));
}

}  // namespace dllaunch::gpu
