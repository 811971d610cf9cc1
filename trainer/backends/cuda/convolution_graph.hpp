// A convolution in cuDNN's words.
#pragma once

#include <string>
#include <vector>

#include "trainer/backends/cuda/cudnn_descriptor.hpp"
#include "trainer/backends/gpu/math_library.hpp"

namespace dllaunch::cudnn {

enum class Pass { forward, backward_data, backward_weights };

/// Extents and strides as cuDNN wants them: rows (or output channels) and channels first, whatever
/// lies in memory; a volume of one layer is an image.
struct Extents {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
};
Extents extents_of(const gpu::Volume& volume, bool flat);
/// Of the weights.
gpu::Volume weights_of(const gpu::ConvolutionShape& shape);
bool is_flat(const gpu::ConvolutionShape& shape);

/// Which number a tensor goes by in the operation and in the variant pack.
constexpr std::int64_t id_of_x = 1;
constexpr std::int64_t id_of_w = 2;
constexpr std::int64_t id_of_y = 3;

/// One operation and what it refers to, finished: all of them must outlive what is made of it.
struct ConvolutionGraph {
  std::vector<Descriptor> parts;
  Descriptor operation;
};
Result<ConvolutionGraph> convolution_graph(const gpu::ConvolutionShape& shape, Pass pass);

/// May an engine with these notes be taken? Never one whose sums come in another order each time;
/// for fp32 none that rounds its inputs, which is what tf32 asks for; none that multiplies
/// otherwise than the convolution says (Winograd, FFT), which rounds coarser.
bool is_welcome(std::span<const cudnnBackendNumericalNote_t> notes, const gpu::Numerics& numerics);

/// The key of what was measured: "f32,x8x3x1x32x32,...": the same shape, the same text.
std::string text_of(const gpu::ConvolutionShape& shape, Pass pass);

}  // namespace dllaunch::cudnn
