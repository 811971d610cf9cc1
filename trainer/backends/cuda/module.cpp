// The module's entry point. It passes C++ types: dltrain and the module are built together.
#include <utility>

#include "trainer/backends/cuda/cublaslt_matmul.hpp"
#include "trainer/backends/cuda/cudnn_convolution.hpp"
#include "trainer/backends/gpu/opening/gpu_backend.hpp"
#include "trainer/backends/gpu/precisions.hpp"

namespace dllaunch {
namespace {

class CudaMath final : public gpu::MathLibrary {
 public:
  explicit CudaMath(gpu::AutotuneCache cache) : cache_(std::move(cache)) {}
  Result<Ok> open() {
    auto opened = cudnn_->open();
    return opened ? cublaslt_->open() : opened;
  }
  Result<std::unique_ptr<gpu::Convolution>> convolution(
      const gpu::ConvolutionShape& shape) override {
    return cudnn::make_convolution(cudnn_, cache_, shape);
  }
  Result<std::unique_ptr<gpu::Matmul>> matmul(const gpu::MatmulShape& shape) override {
    return cublaslt::make_matmul(cublaslt_, shape);
  }

 private:
  std::shared_ptr<cudnn::Handle> cudnn_ = std::make_shared<cudnn::Handle>();
  std::shared_ptr<cublaslt::Handle> cublaslt_ = std::make_shared<cublaslt::Handle>();
  gpu::AutotuneCache cache_;
};

Result<std::unique_ptr<gpu::MathLibrary>> open_math(gpu::AutotuneCache cache) {
  auto math = std::make_unique<CudaMath>(std::move(cache));
  auto opened = math->open();
  if (!opened) return std::move(opened).error();
  return std::unique_ptr<gpu::MathLibrary>(std::move(math));
}

}  // namespace
}  // namespace dllaunch

extern "C" void dllaunch_open_cuda(dllaunch::gpu::GpuOpening& opening) {
  const dllaunch::gpu::GpuVendor cuda{.backend = "cuda",
                                      .precisions = dllaunch::gpu::precisions,
                                      .libraries = {{.name = "cuDNN",
                                                     .found = static_cast<int>(cudnnGetVersion()),
                                                     .needed = CUDNN_VERSION}},
                                      .open_math = dllaunch::open_math};
  opening.opened = open_gpu_backend(cuda, opening);
}
