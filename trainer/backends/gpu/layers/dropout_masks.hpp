// What a step drops, in memory of the GPU: kernels that are recorded find another mask there in
// every step.
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
  /// Its array is among `memory`'s. Both outlive it.
  DropoutMasks(const Graph& graph, DeviceMemory& memory);

  /// Those of a micro-batch, for what the stream is given from now on.
  void draw(GpuStream stream, std::uint64_t batch_key);
  /// Of a node that is a Dropout.
  const DropoutMask* at(std::size_t node) const {
    return memory_.at<DropoutMask>(piece_) + place_[node];
  }

 private:
  const Graph& graph_;
  const DeviceMemory& memory_;
  std::vector<std::size_t> place_;  // by node
  std::vector<DropoutMask> drawn_;
  int piece_;
};

}  // namespace dllaunch::gpu
