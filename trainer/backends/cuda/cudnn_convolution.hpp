// Convolutions by cuDNN 9's graph API, with the fastest of the engines that its heuristics return.
#pragma once

#include <memory>

#include "trainer/backends/cuda/convolution_graph.hpp"
#include "trainer/backends/gpu/layers/convolution_autotune.hpp"

namespace dllaunch::cudnn {

class Handle {
 public:
  Handle() = default;
  ~Handle() {
    if (raw_ != nullptr) cudnnDestroy(raw_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  /// unavailable: cuDNN does not start; quotes its message.
  Result<Ok> open();
  cudnnHandle_t raw() const { return raw_; }

 private:
  cudnnHandle_t raw_ = nullptr;
};

/// Shares the handle. unavailable: cuDNN has no engine for this shape.
Result<std::unique_ptr<gpu::Convolution>> make_convolution(std::shared_ptr<const Handle> handle,
                                                           const gpu::AutotuneCache& cache,
                                                           const gpu::ConvolutionShape& shape);

}  // namespace dllaunch::cudnn
