#include "trainer/backends/cuda/convolution_graph.hpp"

#include <algorithm>

namespace dllaunch::cudnn {
namespace {

cudnnDataType_t type_of(DType type) {
  if (type == DType::f16) return CUDNN_DATA_HALF;
  return type == DType::bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
}

Descriptor tensor(std::int64_t id, DType type, const gpu::Extents& extents) {
  Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type_of(type))
      .numbers(CUDNN_ATTR_TENSOR_DIMENSIONS, extents.sizes)
      .numbers(CUDNN_ATTR_TENSOR_STRIDES, extents.strides)
      .number(CUDNN_ATTR_TENSOR_UNIQUE_ID, id)
      .number(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 64)
      .finish();
  return made;
}

Descriptor convolution(const gpu::ConvolutionShape& shape) {
  const bool flat = is_flat(shape);
  const auto padding = gpu::axes_of(shape.window.padding, flat);
  const std::vector<std::int64_t> ones(padding.size(), 1);
  Descriptor made(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  made.number(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, static_cast<std::int64_t>(padding.size()))
      .set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION)
      .numbers(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, padding)
      .numbers(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, padding)
      .numbers(CUDNN_ATTR_CONVOLUTION_DILATIONS, ones)
      .numbers(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, gpu::axes_of(shape.window.stride, flat))
      .finish();
  return made;
}

/// cuDNN's attribute names, which differ between the passes.
struct Names {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t x;
  cudnnBackendAttributeName_t w;
  cudnnBackendAttributeName_t y;
  cudnnBackendAttributeName_t convolution;
  cudnnBackendAttributeName_t alpha;
  cudnnBackendAttributeName_t beta;
};
Names names_of(Pass pass) {
  switch (pass) {
    case Pass::forward:
      break;
    case Pass::backward_data:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case Pass::backward_weights:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
}

}  // namespace

Result<ConvolutionGraph> convolution_graph(const gpu::ConvolutionShape& shape, Pass pass) {
  const bool flat = is_flat(shape);
  const Names names = names_of(pass);
  ConvolutionGraph graph{.parts = {}, .operation = Descriptor(names.operation)};
  graph.parts.push_back(tensor(id_of_x, shape.type, extents_of(shape.x, flat)));
  graph.parts.push_back(tensor(id_of_w, shape.type, extents_of(weights_of(shape), flat)));
  graph.parts.push_back(tensor(id_of_y, shape.type, extents_of(shape.y, flat)));
  graph.parts.push_back(convolution(shape));
  graph.operation.set(names.x, graph.parts[0])
      .set(names.w, graph.parts[1])
      .set(names.y, graph.parts[2])
      .set(names.convolution, graph.parts[3])
      .set(names.alpha, CUDNN_TYPE_FLOAT, 1.0F)
      .set(names.beta, CUDNN_TYPE_FLOAT, 0.0F)
      .finish();
  if (!graph.operation.good()) return graph.operation.error();
  return graph;
}

gpu::Relaxation relaxation_of(std::span<const cudnnBackendNumericalNote_t> notes,
                              const gpu::Numerics& numerics) {
  using gpu::Relaxation;
  const bool exact = numerics.type == DType::f32 && !numerics.tf32;
  const auto of_note = [exact](cudnnBackendNumericalNote_t note) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_WINOGRAD:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
        return Relaxation::winograd;
      case CUDNN_NUMERICAL_NOTE_FFT:
        return Relaxation::fft;
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
        return exact ? Relaxation::rounded_inputs : Relaxation::none;
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
        return Relaxation::rounded_sums;
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        return Relaxation::unordered;
      default:
        return Relaxation::none;
    }
  };
  auto worst = Relaxation::none;
  for (const cudnnBackendNumericalNote_t note : notes) worst = std::max(worst, of_note(note));
  return worst;
}

}  // namespace dllaunch::cudnn
