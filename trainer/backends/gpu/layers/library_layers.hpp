// The layers that a vendor's library computes.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "trainer/backends/gpu/math_library.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"
#include "trainer/backends/gpu/plan/step_plan.hpp"

namespace dllaunch::gpu {

/// The library's part of one node: a convolution, or a dense layer's three products.
struct LibraryLayer {
  std::unique_ptr<Convolution> convolution = nullptr;
  std::int64_t weights = 0;  // elements of the convolution's
  std::int64_t inputs = 0;   // and of its input
  std::unique_ptr<Matmul> forward = nullptr;
  std::unique_ptr<Matmul> backward_data = nullptr;
  std::unique_ptr<Matmul> backward_weights = nullptr;
};

/// What a node reads and writes: arrays of T, the weights' gradient of float.
template <typename T>
struct LibraryPass {
  GpuStream stream = nullptr;
  const T* x = nullptr;
  const T* weight = nullptr;
  T* y = nullptr;
  // Backward; nullptr: nobody asks for it.
  const T* dy = nullptr;
  T* dx = nullptr;
  bool add = false;  // to dx
  float* dweight = nullptr;
  bool add_weights = false;
};

class LibraryLayers {
 public:
  explicit LibraryLayers(DeviceMemory& memory) : memory_(memory) {}
  /// Activations are of numerics.type. The library's error, with the node's name before it.
  /// Reserves what all of them need.
  std::optional<Error> make(MathLibrary& library, const Graph& graph, const StepPlan& plan,
                            const Numerics& numerics);

  template <typename T>
  void forward(std::size_t node, const LibraryPass<T>& pass);
  template <typename T>
  void backward(std::size_t node, const LibraryPass<T>& pass);
  bool has(std::size_t node) const {
    return layers_[node].convolution != nullptr || layers_[node].forward != nullptr;
  }

 private:
  std::optional<Error> make_convolution(MathLibrary& library, const Graph& graph,
                                        const StepPlan& plan, const Numerics& numerics,
                                        std::size_t n);
  std::optional<Error> make_dense(MathLibrary& library, const Graph& graph, const StepPlan& plan,
                                  const Numerics& numerics, std::size_t n);

  DeviceMemory& memory_;
  std::vector<LibraryLayer> layers_;
  std::size_t workspace_bytes_ = 0;  // of the hungriest
  std::size_t weights_ = 0;          // elements of the largest convolution's, and of the largest
  std::size_t inputs_ = 0;           // one's input
  int workspace_ = -1;
  int weight_grad_ = -1;  // T: of one convolution
  int input_grad_ = -1;   // T: of one convolution that adds
};

}  // namespace dllaunch::gpu
