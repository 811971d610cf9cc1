// Maps a kind of layer to its kernels, if it has one forward and one backward.
#pragma once

#include "trainer/backends/gpu/kernels/element.hpp"

namespace dllaunch::gpu {

/// A layer's arrays for a whole batch. Tokens of a sequence are rows.
template <typename T>
struct View {
  Volume in;
  Volume out;
  const T* x = nullptr;
  T* y = nullptr;
  const T* dy = nullptr;
  T* dx = nullptr;
  bool add = false;                 // accumulate into dx
  std::uint16_t* argmax = nullptr;  // max pooling
};

/// Specialised beside the functors of a kind. forward(kind, view) returns the functor with one
/// index per output, backward(kind, view) the one with one index per input.
template <typename Kind, typename T>
struct LayerKernels;

}  // namespace dllaunch::gpu
