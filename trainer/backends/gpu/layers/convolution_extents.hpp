// A convolution in the words that cuDNN and MIOpen share.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "trainer/backends/gpu/math_library.hpp"

namespace dllaunch::gpu {

enum class Pass { forward, backward_data, backward_weights };

/// Extents and strides as the libraries want them: rows (or output channels) and channels first,
/// whatever lies in memory; a volume of one layer is an image.
struct Extents {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
};
Extents extents_of(const Volume& volume, bool flat);
/// Of the weights.
Volume weights_of(const ConvolutionShape& shape);
bool is_flat(const ConvolutionShape& shape);
/// A window's kernel, stride or padding: two numbers of an image's, three of a volume's.
std::vector<std::int64_t> axes_of(const std::array<std::int64_t, 3>& all, bool flat);

/// The key of what was measured: "f32,x8x3x1x32x32,...": the same shape, the same text.
std::string text_of(const ConvolutionShape& shape, Pass pass);

}  // namespace dllaunch::gpu
