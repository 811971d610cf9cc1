// The module's entry point. It passes C++ types: dltrain and the module are built together.
#include <fmt/core.h>
#include <miopen/version.h>

#include <memory>
#include <utility>

#include "trainer/backends/gpu/opening/gpu_backend.hpp"
#include "trainer/backends/hip/miopen_convolution.hpp"
#include "trainer/backends/hip/precisions.hpp"
#include "trainer/backends/hip/rocblas_matmul.hpp"

namespace dllaunch {
namespace {

constexpr int miopen_needed =
    MIOPEN_VERSION_MAJOR * 10000 + MIOPEN_VERSION_MINOR * 100 + MIOPEN_VERSION_PATCH;
constexpr int rocblas_needed =
    ROCBLAS_VERSION_MAJOR * 10000 + ROCBLAS_VERSION_MINOR * 100 + ROCBLAS_VERSION_PATCH;

class HipMath final : public gpu::EngineLibrary {
 public:
  explicit HipMath(std::shared_ptr<gpu::EngineBook> book)
      : EngineLibrary("MIOpen", std::move(book)) {}
  Result<Ok> open() {
    auto opened = miopen_->open();
    return opened ? rocblas_->open() : opened;
  }
  Result<std::unique_ptr<gpu::Matmul>> matmul(const gpu::MatmulShape& shape) override {
    return rocblas::make_matmul(rocblas_, shape);
  }

 private:
  Result<gpu::PassEngines> engines(const gpu::ConvolutionShape& shape, gpu::Pass pass) override {
    return miopen::engines_of(miopen_, shape, pass);
  }

  std::shared_ptr<miopen::Handle> miopen_ = std::make_shared<miopen::Handle>();
  std::shared_ptr<rocblas::Handle> rocblas_ = std::make_shared<rocblas::Handle>();
};

Result<std::unique_ptr<gpu::MathLibrary>> open_math(std::shared_ptr<gpu::EngineBook> book) {
  auto math = std::make_unique<HipMath>(std::move(book));
  auto opened = math->open();
  if (!opened) return std::move(opened).error();
  return std::unique_ptr<gpu::MathLibrary>(std::move(math));
}

}  // namespace
}  // namespace dllaunch

extern "C" void dllaunch_open_hip(dllaunch::gpu::GpuOpening& opening) {
  const dllaunch::gpu::GpuVendor hip{
      .backend = "hip",
      .precisions = dllaunch::hip::precisions,
      .libraries = {{.name = "MIOpen",
                     .found = dllaunch::miopen::loaded_version(),
                     .needed = dllaunch::miopen_needed},
                    {.name = "rocBLAS",
                     .found = dllaunch::rocblas::loaded_version(),
                     .needed = dllaunch::rocblas_needed}},
      .engines = fmt::format("miopen{}", dllaunch::miopen::loaded_version()),
      .open_math = dllaunch::open_math};
  opening.opened = open_gpu_backend(hip, opening);
}
