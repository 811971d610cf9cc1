// Attention: matrix products of a vendor's library for each head, and kernels between them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gpu_api.hpp"
#include "trainer/backends/gpu/kernels/attention_functors.hpp"
#include "trainer/backends/gpu/kernels/layer_kernels.hpp"
#include "trainer/backends/gpu/math_library.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"
#include "trainer/backends/gpu/plan/step_plan.hpp"

namespace dllaunch::gpu {

/// The weights of sums, [samples, heads, tokens, tokens], are not kept for the backward pass, which
/// computes them again: one layer's are in memory at a time. Products of queries and keys are
/// floats, whatever the type of activations.
class AttentionLayers {
 public:
  AttentionLayers(const Graph& graph, const StepPlan& plan, DeviceMemory& memory)
      : graph_(graph), plan_(plan), memory_(memory), layers_(graph.nodes.size()) {}

  /// Reserves the arrays whose size the library does not decide.
  void reserve(DType type);
  /// Creates the products and reserves their workspace. Returns the library's error, prefixed with
  /// the node's name.
  std::optional<Error> make(MathLibrary& library, const Numerics& numerics);

  template <typename T>
  void forward(GpuStream stream, std::size_t node, const View<T>& view);
  /// view.dx is needed.
  template <typename T>
  void backward(GpuStream stream, std::size_t node, const View<T>& view);

 private:
  /// Arrays of a pass of a layer, in its step only; indexes into memory_. Heads are [samples,
  /// heads, tokens, size], scores [samples, heads, tokens, tokens], rows [samples, heads, tokens].
  struct Arrays {
    int joint = -1;        // T: heads of query, key and value
    int joint_grads = -1;  // backward: of these
    int outputs = -1;      // T: heads of y, or of dy
    int scores = -1;       // float
    int weights = -1;      // T, of the same shape
    int rows = -1;         // SoftmaxRow
    int sums = -1;         // backward: float, a row's
  };
  /// Matrices of a head: queries, keys and values [tokens, size], weights [tokens, tokens].
  struct Layer {
    Arrays forward = {};
    Arrays backward = {};
    std::unique_ptr<Matmul> scores = nullptr;     // queries keys'
    std::unique_ptr<Matmul> outputs = nullptr;    // weights values; dqueries = dscores keys
    std::unique_ptr<Matmul> gradients = nullptr;  // dvalues = weights' dy; dkeys = dscores' queries
  };
  template <typename T>
  struct Heads {
    T* query;
    T* key;
    T* value;
  };
  Arrays arrays_in(int step, std::size_t node, DType type, bool backward);
  Volume head_volume(std::size_t node) const;
  HeadShape head_shape(std::size_t node, std::int64_t parts) const;
  template <typename T>
  Heads<T> heads_at(std::size_t node, int piece) const;
  void* workspace() const { return memory_.at<void*>(workspace_); }
  template <typename T>
  Scores compute_weights(GpuStream stream, std::size_t node, const Arrays& arrays, const T* x);

  const Graph& graph_;
  const StepPlan& plan_;
  DeviceMemory& memory_;
  std::vector<Layer> layers_;  // by node
  int workspace_ = -1;
};

}  // namespace dllaunch::gpu
