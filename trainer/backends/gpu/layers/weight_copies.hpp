// Weights that a vendor's library multiplies, in the type of activations.
#pragma once

#include <type_traits>
#include <vector>

#include "gpu_api.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"
#include "trainer/backends/gpu/memory/parameter_memory.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch::gpu {

class WeightCopies {
 public:
  /// Reserves its arrays in `memory`: none if activations are floats, as weights are. All must
  /// outlive it.
  WeightCopies(const Graph& graph, DType type, const ParameterMemory& parameters,
               DeviceMemory& memory);

  /// Copies the current weights.
  template <typename T>
  void take(GpuStream stream);
  template <typename T>
  const T* of(int parameter) const {
    if constexpr (std::is_same_v<T, float>) {
      return parameters_.weight(parameter);
    } else {
      return memory_.at<T>(copies_[static_cast<std::size_t>(parameter)]);
    }
  }

 private:
  const Graph& graph_;
  const ParameterMemory& parameters_;
  DeviceMemory& memory_;
  std::vector<int> copies_;  // by parameter, indexes into memory_; -1: none
};

}  // namespace dllaunch::gpu
