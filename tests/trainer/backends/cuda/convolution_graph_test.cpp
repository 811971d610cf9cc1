// The descriptors passed to cuDNN. The real library creates them without a GPU; running them needs
// one.
#include "trainer/backends/cuda/convolution_graph.hpp"

#include <gtest/gtest.h>

namespace dllaunch::cudnn {
namespace {

using gpu::ConvolutionShape;
using gpu::Volume;

const ConvolutionShape image{.type = DType::bf16,
                             .x = {8, 1, 32, 30, 16},
                             .y = {8, 1, 16, 15, 24},
                             .window = {{1, 3, 3}, {1, 2, 2}, {0, 1, 1}}};
const ConvolutionShape volume{.type = DType::f32,
                              .x = {2, 9, 8, 7, 4},
                              .y = {2, 4, 8, 7, 6},
                              .window = {{3, 3, 1}, {2, 1, 1}, {0, 1, 0}}};

TEST(ConvolutionGraph, CudnnTakesEveryPass) {
  for (const ConvolutionShape& shape : {image, volume}) {
    for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weights}) {
      const auto graph = convolution_graph(shape, pass);
      EXPECT_TRUE(graph) << text_of(shape, pass) << ": " << (graph ? "" : graph.error().what);
    }
  }
}

TEST(ConvolutionGraph, CudnnSeesWhatDoesNotFit) {
  ConvolutionShape wrong = image;
  wrong.y.height = 40;
  const auto graph = convolution_graph(wrong, Pass::forward);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(graph.error().what.substr(0, 7), "cuDNN: ");
}

TEST(ConvolutionGraph, EnginesThatRoundOrShuffleAreRelaxations) {
  using gpu::Relaxation;
  const auto of = [](std::vector<cudnnBackendNumericalNote_t> notes, DType type,
                     bool tf32 = false) {
    return relaxation_of(notes, {.type = type, .tf32 = tf32});
  };
  EXPECT_EQ(of({}, DType::f32), Relaxation::none);
  EXPECT_EQ(of({CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP}, DType::f32), Relaxation::none);
  EXPECT_EQ(of({CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, DType::bf16), Relaxation::none);
  EXPECT_EQ(of({CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS},
               DType::f32, /*tf32=*/true),
            Relaxation::none);
  EXPECT_EQ(of({CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, DType::f32), Relaxation::rounded_inputs);
  EXPECT_EQ(of({CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS}, DType::f32), Relaxation::rounded_inputs);
  for (const auto note :
       {CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4,
        CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13}) {
    EXPECT_EQ(of({note}, DType::f32), Relaxation::winograd);
  }
  EXPECT_EQ(of({CUDNN_NUMERICAL_NOTE_FFT}, DType::f16), Relaxation::fft);
  EXPECT_EQ(of({CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION}, DType::f16),
            Relaxation::rounded_sums);
  EXPECT_EQ(of({CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, DType::f32, /*tf32=*/true),
            Relaxation::unordered);
  // The worst counts, in whatever order.
  EXPECT_EQ(
      of({CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, DType::f32),
      Relaxation::unordered);
  EXPECT_EQ(of({CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, DType::f32),
            Relaxation::rounded_inputs);
}

}  // namespace
}  // namespace dllaunch::cudnn
