// A convolution in cuDNN's words.
#pragma once

#include <span>
#include <vector>

#include "trainer/backends/cuda/cudnn_descriptor.hpp"
#include "trainer/backends/gpu/layers/convolution_extents.hpp"

namespace dllaunch::cudnn {

using gpu::Pass;

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

}  // namespace dllaunch::cudnn
