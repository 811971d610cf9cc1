// Layers of sequences with parameters of their own: embeddings, a class token, layer norm.
#pragma once

#include <type_traits>
#include <vector>

#include "gpu_api.hpp"
#include "trainer/backends/gpu/kernels/layer_kernels.hpp"
#include "trainer/backends/gpu/math_library.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"
#include "trainer/backends/gpu/plan/step_plan.hpp"

namespace dllaunch::gpu {

/// A node's arrays for one pass; nullptr: not needed.
template <typename T>
struct TokenPass {
  GpuStream stream = nullptr;
  View<T> at;
  const float* weight = nullptr;
  const float* bias = nullptr;
  // Backward:
  float* dweight = nullptr;
  float* dbias = nullptr;
  bool add_weights = false;
};

class TokenLayers {
 public:
  template <typename Kind>
  static constexpr bool computes =
      std::is_same_v<Kind, Embedding> || std::is_same_v<Kind, PositionEmbedding> ||
      std::is_same_v<Kind, ClassToken> || std::is_same_v<Kind, LayerNorm>;

  /// Reserves its arrays in `memory`. All must outlive it.
  TokenLayers(const Graph& graph, const StepPlan& plan, DType type, DeviceMemory& memory);
  /// Returns where embeddings expect the network's input as floats; nullptr: nowhere, for there are
  /// none or activations are floats, too. 16 bits do not hold every id.
  float* exact_tokens() const { return memory_.at<float>(tokens_); }

  template <typename T>
  void forward(std::size_t node, const TokenPass<T>& pass);
  template <typename T>
  void backward(std::size_t node, const TokenPass<T>& pass);

 private:
  /// Of a layer norm; indexes into memory_.
  struct Rows {
    int mean = -1;
    int inv_std = -1;
  };
  template <typename T>
  void norm_forward(const LayerNorm& op, const Rows& rows, const TokenPass<T>& pass);
  template <typename T>
  void norm_backward(const Rows& rows, const TokenPass<T>& pass);
  template <typename T>
  const float* tokens_of(const TokenPass<T>& pass) const;
  template <typename T>
  void embedding_backward(const Embedding& op, const TokenPass<T>& pass);

  const Graph& graph_;
  DeviceMemory& memory_;
  std::vector<Rows> norms_;  // by node
  int means_ = -1;           // float [rows, 2]: of gradients
  int partial_ = -1;         // float [2, chunks, width]
  int joined_ = -1;          // double [2, width]
  int tokens_ = -1;          // float [rows]
  int occurrences_ = -1;     // [rows]
};

}  // namespace dllaunch::gpu
