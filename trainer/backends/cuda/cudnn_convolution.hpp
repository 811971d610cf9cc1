// Convolutions by cuDNN 9's graph interface: of the engines that its heuristics name, the one that
// was the fastest here.
#pragma once

#include <memory>
#include <string>

#include "runtime/rank_env.hpp"
#include "trainer/backends/cuda/convolution_graph.hpp"

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

/// What was the fastest is kept, by GPU model, library version and shape, where measured_file()
/// says; nothing is measured again where that is known.
struct PlanChoice {
  EnvLookup lookup;
  std::string gpu;  // model
};

/// The handle and the choice outlive it. unavailable: no engine takes this shape.
Result<std::unique_ptr<gpu::Convolution>> make_convolution(const Handle& handle,
                                                           const PlanChoice& choice,
                                                           const gpu::ConvolutionShape& shape);

}  // namespace dllaunch::cudnn
