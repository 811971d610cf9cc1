// Convolution shapes as cuDNN and MIOpen describe them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "trainer/backends/gpu/math_library.hpp"

namespace dllaunch::gpu {

enum class Pass { forward, backward_data, backward_weights };

/// Sizes and strides in the libraries' order, which is independent of the memory layout: rows (or
/// output channels), channels, then pixels. `flat` drops the depth axis.
struct Extents {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
};
Extents extents_of(const Volume& volume, bool flat);
/// Returns the shape of the weights, channels last.
Volume weights_of(const ConvolutionShape& shape);
/// Whether the convolution is over images rather than volumes.
bool is_flat(const ConvolutionShape& shape);
/// Returns a window's kernel, stride or padding: two numbers if flat, else three.
std::vector<std::int64_t> axes_of(const std::array<std::int64_t, 3>& all, bool flat);

/// Returns the shape as text, unique to it: "forward,f32,x8x3x1x32x32,...". Used as a cache key.
std::string text_of(const ConvolutionShape& shape, Pass pass);

}  // namespace dllaunch::gpu
