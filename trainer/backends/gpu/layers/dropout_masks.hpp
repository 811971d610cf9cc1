// Dropout masks in GPU memory, where captured kernels find a new mask in every step.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu_api.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"
#include "trainer/graph/dropout.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch::gpu {

class DropoutMasks {
 public:
  /// Reserves its array in `memory`. Both must outlive it.
  DropoutMasks(const Graph& graph, DeviceMemory& memory);

  /// Sets the masks of a micro-batch for the following work on the stream.
  void draw(GpuStream stream, std::uint64_t batch_key);
  /// Returns the mask of a Dropout node, in GPU memory.
  const DropoutMask* at(std::size_t node) const {
    return memory_.at<DropoutMask>(piece_) + place_[node];
  }

  /// Of what is kept.
  static float scale(const Dropout& op) { return static_cast<float>(1 / (1 - op.rate)); }

 private:
  const Graph& graph_;
  const DeviceMemory& memory_;
  std::vector<std::size_t> place_;  // by node
  std::vector<DropoutMask> drawn_;
  int piece_;
};

}  // namespace dllaunch::gpu
