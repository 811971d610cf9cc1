// The module's entry point. It passes C++ types: dltrain and the module are built together.
#include <fmt/core.h>

#include <memory>
#include <utility>

#include "trainer/backends/cuda/cublaslt_matmul.hpp"
#include "trainer/backends/cuda/cudnn_convolution.hpp"
#include "trainer/backends/gpu/opening/gpu_backend.hpp"
#include "trainer/backends/gpu/precisions.hpp"

namespace dllaunch {
namespace {

class CudaMath final : public gpu::EngineLibrary {
 public:
  explicit CudaMath(std::shared_ptr<gpu::EngineBook> book)
      : EngineLibrary("cuDNN", std::move(book)) {}
  Result<Ok> open() {
    auto opened = cudnn_->open();
    return opened ? cublaslt_->open() : opened;
  }
  Result<std::unique_ptr<gpu::Matmul>> matmul(const gpu::MatmulShape& shape) override {
    return cublaslt::make_matmul(cublaslt_, shape);
  }

 private:
  Result<gpu::PassEngines> engines(const gpu::ConvolutionShape& shape, gpu::Pass pass) override {
    return cudnn::engines_of(cudnn_, shape, pass);
  }

  std::shared_ptr<cudnn::Handle> cudnn_ = std::make_shared<cudnn::Handle>();
  std::shared_ptr<cublaslt::Handle> cublaslt_ = std::make_shared<cublaslt::Handle>();
};

Result<std::unique_ptr<gpu::MathLibrary>> open_math(std::shared_ptr<gpu::EngineBook> book) {
  auto math = std::make_unique<CudaMath>(std::move(book));
  auto opened = math->open();
  if (!opened) return std::move(opened).error();
  return std::unique_ptr<gpu::MathLibrary>(std::move(math));
}

}  // namespace
}  // namespace dllaunch

extern "C" void dllaunch_open_cuda(dllaunch::gpu::GpuOpening& opening) {
  const dllaunch::gpu::GpuVendor cuda{
      .backend = "cuda",
      .precisions = dllaunch::gpu::precisions,
      .libraries = {{.name = "cuDNN",
                     .found = static_cast<int>(cudnnGetVersion()),
                     .needed = CUDNN_VERSION}},
      .engines = fmt::format("cudnn{}-{}", cudnnGetVersion(), cudnnGetCudartVersion()),
      .open_math = dllaunch::open_math};
  opening.opened = open_gpu_backend(cuda, opening);
}
