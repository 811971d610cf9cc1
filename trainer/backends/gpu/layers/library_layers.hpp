// Layers computed by the vendor's libraries: convolutions and dense layers.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "trainer/backends/backend.hpp"
#include "trainer/backends/gpu/math_library.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"
#include "trainer/backends/gpu/plan/step_plan.hpp"

namespace dllaunch::gpu {

/// One node: a convolution, or the three matrix products of a dense layer.
struct LibraryLayer {
  std::shared_ptr<Convolution> convolution = nullptr;  // of all nodes of one shape
  std::int64_t weights = 0;                            // convolution: elements of its weights
  std::int64_t inputs = 0;                             // convolution: elements of its input
  bool input_major = false;                            // dense: the weight is [inputs, units]
  std::unique_ptr<Matmul> forward = nullptr;
  std::unique_ptr<Matmul> backward_data = nullptr;
  std::unique_ptr<Matmul> backward_weights = nullptr;
};

/// A node's arrays for one pass: activations and weights of T, dweight in float.
template <typename T>
struct LibraryPass {
  GpuStream stream = nullptr;
  const T* x = nullptr;
  const T* weight = nullptr;
  T* y = nullptr;
  // Backward; nullptr: not needed.
  const T* dy = nullptr;
  T* dx = nullptr;
  bool add = false;  // accumulate into dx
  float* dweight = nullptr;
  bool add_weights = false;
};

class LibraryLayers {
 public:
  explicit LibraryLayers(DeviceMemory& memory) : memory_(memory) {}
  /// Reserves the arrays whose size the library does not decide.
  void reserve(const Graph& graph, const StepPlan& plan, DType type);
  /// Call reserve() first. Creates all layers and reserves their workspace. Activations have
  /// numerics.type. Of the options, uses `choices` and `warn`. Returns the library's error,
  /// prefixed with the node's name.
  std::optional<Error> make(MathLibrary& library, const Graph& graph, const StepPlan& plan,
                            const Numerics& numerics, const CompileOptions& options);
  /// Call at the end of a training step: the first one proves the engines, and they are stored.
  void step_ended();

  template <typename T>
  void forward(std::size_t node, const LibraryPass<T>& pass);
  template <typename T>
  void backward(std::size_t node, const LibraryPass<T>& pass);

 private:
  std::optional<Error> make_all(MathLibrary& library, const Graph& graph, const StepPlan& plan,
                                const Numerics& numerics);
  std::optional<Error> make_convolution(MathLibrary& library, const Graph& graph,
                                        const StepPlan& plan, const Numerics& numerics,
                                        std::size_t n);
  std::optional<Error> make_dense(MathLibrary& library, const Graph& graph, const StepPlan& plan,
                                  const Numerics& numerics, std::size_t n);

  DeviceMemory& memory_;
  std::vector<LibraryLayer> layers_;
  /// By text_of() and the backward passes needed.
  std::map<std::tuple<std::string, bool, bool>, std::shared_ptr<Convolution>> convolutions_;
  std::shared_ptr<EngineBook> stores_;  // nullptr: nothing to store
  std::size_t workspace_bytes_ = 0;     // maximum over layers
  int workspace_ = -1;
  int weight_grad_ = -1;  // T: dweight of the current convolution
  int input_grad_ = -1;   // T: dx of the current convolution, if it accumulates
};

}  // namespace dllaunch::gpu
