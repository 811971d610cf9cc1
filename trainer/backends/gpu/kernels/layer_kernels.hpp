// How a kind of layer names its kernels, where it is one each way.
#pragma once

#include "trainer/backends/gpu/kernels/element.hpp"

namespace dllaunch::gpu {

/// A layer's arrays for a whole batch.
template <typename T>
struct View {
  Volume in;
  Volume out;
  const T* x = nullptr;
  T* y = nullptr;
  const T* dy = nullptr;
  T* dx = nullptr;
  bool add = false;               // to dx
  std::uint16_t* best = nullptr;  // of a max pooling
};

/// Specialised beside the functors of a kind: forward(kind, view) gives the functor that takes an
/// index for each output, backward(kind, view) the one that takes an index for each input.
template <typename Kind, typename T>
struct LayerKernels;

}  // namespace dllaunch::gpu
