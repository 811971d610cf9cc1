// The layers that a vendor's library computes.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "trainer/backends/gpu/math_library.hpp"
#include "trainer/backends/gpu/step_plan.hpp"

namespace dllaunch::gpu {

/// The library's part of one node: a convolution, or a dense layer's three products.
struct Heavy {
  std::unique_ptr<Convolution> convolution = nullptr;
  std::unique_ptr<Product> forward = nullptr;
  std::unique_ptr<Product> backward_data = nullptr;
  std::unique_ptr<Product> backward_weights = nullptr;
};

class HeavyLayers {
 public:
  /// Activations are of numerics.type. The library's error, with the node's name before it.
  std::optional<Error> make(MathLibrary& library, const Graph& graph, const StepPlan& plan,
                            const Numerics& numerics);

  const Heavy& at(std::size_t node) const { return layers_[node]; }
  bool has(std::size_t node) const {
    return layers_[node].convolution != nullptr || layers_[node].forward != nullptr;
  }
  std::size_t workspace() const { return workspace_; }  // bytes, of the hungriest
  /// Elements of the largest convolution's weights, and of the largest one's input.
  std::size_t weights() const { return weights_; }
  std::size_t inputs() const { return inputs_; }

 private:
  std::optional<Error> make_convolution(MathLibrary& library, const Graph& graph,
                                        const StepPlan& plan, const Numerics& numerics,
                                        std::size_t n);
  std::optional<Error> make_products(MathLibrary& library, const Graph& graph, const StepPlan& plan,
                                     const Numerics& numerics, std::size_t n);

  std::vector<Heavy> layers_;
  std::size_t workspace_ = 0;
  std::size_t weights_ = 0;
  std::size_t inputs_ = 0;
};

}  // namespace dllaunch::gpu
