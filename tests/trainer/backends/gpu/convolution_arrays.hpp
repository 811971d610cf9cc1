// Device arrays for the calls of one convolution, for tests that make them one by one.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "trainer/backends/gpu/math_library.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"

namespace dllaunch::gpu {

/// x, weights and y, or their gradients, and a workspace of at least a byte: [0] .. [3].
class ConvolutionArrays {
 public:
  ConvolutionArrays(const ConvolutionShape& shape, std::size_t workspace) {
    for (const Volume& of : {shape.x, weights_of(shape), shape.y}) {
      pieces_.push_back(
          memory_.add(static_cast<std::size_t>(of.elements()) * bytes_of(shape.type)));
    }
    pieces_.push_back(memory_.add(workspace > 0 ? workspace : 1));
    memory_.place();
    EXPECT_EQ(memory_.allocate(), gpu_success);
  }
  void* operator[](std::size_t i) const { return memory_.at<void*>(pieces_[i]); }

 private:
  DeviceMemory memory_;
  std::vector<int> pieces_;
};

}  // namespace dllaunch::gpu
