// The loops of batch normalisation, with the addition and the ReLU context it, over one piece of an
// image: as wide as the CPU's vectors.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "runtime/numerics/dtype.hpp"

namespace dllaunch::onednn {

/// A group of channels of one image: [pixels][lanes], lanes being neighbouring channels. Pointers
/// of activations have the element type of the kernels, f32 or bf16; all others are float[lanes].
struct NormPiece {
  std::size_t pixels = 0;
  std::size_t lanes = 0;
  const std::byte* x = nullptr;
  const float* mean = nullptr;

  /// Forward: y = (x - mean) * scale + shift + skip, or 0 where that is below 0 if `relu`.
  const float* scale = nullptr;
  const float* shift = nullptr;
  const std::byte* skip = nullptr;  // may be absent
  std::byte* y = nullptr;
  bool relu = false;

  /// Backward: dy is the sum of one or two parts, 0 where y is not above 0 if `relu`. Without `y`,
  /// and so without a skip, y is computed again from x.
  std::array<const std::byte*, 2> parts = {};  // the second may be absent
  const float* inv_std = nullptr;
  std::byte* masked = nullptr;  // where dy goes; may be absent, or the memory of a part
  /// dx = (dy - grad_mean - (x - mean) * proj_scale) * scale, with dy 0 where the y of x is not
  /// above 0 if `relu`.
  const std::byte* dy = nullptr;
  const float* grad_mean = nullptr;
  const float* proj_scale = nullptr;
  std::byte* dx = nullptr;
};

struct NormKernels {
  const char* name;
  /// The mean of each lane, and the sum of squared distances from it.
  void (*measure)(const NormPiece& piece, float* mean, float* squares);
  void (*normalise)(const NormPiece& piece);
  /// The sums of dy and of dy * (x - mean) * inv_std over each lane; stores_dy dy.
  void (*sum)(const NormPiece& piece, float* dy, float* dy_z);
  void (*backward)(const NormPiece& piece);
};

/// Those that this CPU can run, the widest last; for tests. Of f32 or bf16.
std::vector<NormKernels> norm_kernel_variants(DType type);
/// The widest.
const NormKernels& norm_kernels(DType type);

}  // namespace dllaunch::onednn
