// Convolutions by cuDNN 9's graph API: the engines that its heuristics return, and plans of them.
#pragma once

#include <memory>

#include "trainer/backends/cuda/convolution_graph.hpp"
#include "trainer/backends/gpu/layers/engine_choice.hpp"

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

/// Returns cuDNN's engines for one pass, which share the handle. unavailable: cuDNN does not take
/// the shape.
Result<gpu::PassEngines> engines_of(std::shared_ptr<const Handle> handle,
                                    const gpu::ConvolutionShape& shape, Pass pass);

}  // namespace dllaunch::cudnn
