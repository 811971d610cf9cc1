// Convolutions by cuDNN 9's graph interface: of the engines that its heuristics name, the one that
// was the fastest here.
#pragma once

#include <memory>

#include "trainer/backends/cuda/convolution_graph.hpp"
#include "trainer/backends/gpu/layers/convolution_choice.hpp"

namespace dllaunch::cudnn {

/// Frees itself.
class Handle {
 public:
  Handle() = default;
  ~Handle() {
    if (raw_ != nullptr) cudnnDestroy(raw_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  /// unavailable: cuDNN cannot work here, in its words.
  Result<Ok> open();
  cudnnHandle_t raw() const { return raw_; }

 private:
  cudnnHandle_t raw_ = nullptr;
};

/// It keeps the handle. unavailable: no engine takes this shape.
Result<std::unique_ptr<gpu::Convolution>> make_convolution(std::shared_ptr<const Handle> handle,
                                                           const gpu::PlanChoice& choice,
                                                           const gpu::ConvolutionShape& shape);

}  // namespace dllaunch::cudnn
