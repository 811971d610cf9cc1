// A convolution as an operation of cuDNN's graph API.
#pragma once

#include <span>
#include <vector>

#include "trainer/backends/cuda/cudnn_descriptor.hpp"
#include "trainer/backends/gpu/layers/engine_book.hpp"

namespace dllaunch::cudnn {

using gpu::Pass;

/// Unique ids of the tensors, in the operation and in the variant pack.
constexpr std::int64_t id_of_x = 1;
constexpr std::int64_t id_of_w = 2;
constexpr std::int64_t id_of_y = 3;

/// A finalised operation with the descriptors it refers to. Must outlive every graph and plan built
/// from it.
struct ConvolutionGraph {
  std::vector<Descriptor> parts;
  Descriptor operation;
};
Result<ConvolutionGraph> convolution_graph(const gpu::ConvolutionShape& shape, Pass pass);

/// Returns the worst of what an engine with these numerical notes does. Tensor cores round the
/// inputs of fp32 (TF32); in the other types, and if TF32 is asked for, that is what they are for.
gpu::Relaxation relaxation_of(std::span<const cudnnBackendNumericalNote_t> notes,
                              const gpu::Numerics& numerics);

}  // namespace dllaunch::cudnn
