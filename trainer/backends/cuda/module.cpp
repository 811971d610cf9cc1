// The module's one entry. dltrain and the module are built together: C++ passes between them.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "runtime/gpu/own_gpu.hpp"
#include "trainer/backends/cuda/cublaslt_product.hpp"
#include "trainer/backends/cuda/cudnn_convolution.hpp"
#include "trainer/backends/cuda/module.hpp"
#include "trainer/backends/gpu/gpu_executable.hpp"

namespace dllaunch {
namespace {

class CudaMath final : public gpu::MathLibrary {
 public:
  Result<Ok> open(EnvLookup lookup, std::string model) {
    choice_ = {std::move(lookup), std::move(model)};
    auto opened = cudnn_.open();
    return opened ? cublaslt_.open() : opened;
  }
  Result<std::unique_ptr<gpu::Convolution>> convolution(
      const gpu::ConvolutionShape& shape) override {
    return cudnn::make_convolution(cudnn_, choice_, shape);
  }
  Result<std::unique_ptr<gpu::Product>> product(const gpu::ProductShape& shape) override {
    return cublaslt::make_product(cublaslt_, shape);
  }

 private:
  cudnn::Handle cudnn_;
  cublaslt::Handle cublaslt_;
  cudnn::PlanChoice choice_;
};

class CudaBackend final : public Backend {
 public:
  static Result<std::unique_ptr<Backend>> open(const RankEnv& rank, const EnvLookup& lookup) {
    if (auto problem = version_problem({.name = "cuDNN",
                                        .found = static_cast<int>(cudnnGetVersion()),
                                        .needed = CUDNN_VERSION})) {
      return *std::move(problem);
    }
    auto device = take_own_gpu(read_gpu_wish(rank, lookup));
    if (!device) return std::move(device).error();
    std::string model;
    if (gpu_model(*device, model) != gpu_success) model = "unknown";
    auto backend = std::make_unique<CudaBackend>();
    backend->pci_ = address_of_gpu(*device);
    auto opened = backend->math_.open(lookup, std::move(model));
    if (!opened) return std::move(opened).error();
    return std::unique_ptr<Backend>(std::move(backend));
  }

  Result<std::unique_ptr<Executable>> compile(const Graph& graph,
                                              const CompileOptions& options) override {
    return gpu::compile_for_gpu("cuda", graph, options, math_);
  }
  std::string gpu() const override { return pci_; }

 private:
  std::string pci_;
  CudaMath math_;
};

}  // namespace
}  // namespace dllaunch

extern "C" void dllaunch_open_cuda(dllaunch::CudaOpening& opening) {
  opening.opened = dllaunch::CudaBackend::open(opening.rank, opening.lookup);
}
