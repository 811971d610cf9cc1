// Vectorised loops of batch normalisation with fused addition and ReLU, over one group of channels
// of one image.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "runtime/numerics/dtype.hpp"

namespace dllaunch::onednn {

/// A group of adjacent channels of one image: [pixels][lanes]. Activations have the kernels'
/// element type, f32 or bf16; all other arrays are float[lanes].
struct NormPiece {
  std::size_t pixels = 0;
  std::size_t lanes = 0;
  const std::byte* x = nullptr;
  const float* mean = nullptr;

  /// Forward: y = (x - mean) * scale + shift + skip; max(y, 0) if `relu`.
  const float* scale = nullptr;
  const float* shift = nullptr;
  const std::byte* skip = nullptr;  // optional
  std::byte* y = nullptr;
  bool relu = false;

  /// Backward: dy is the sum of one or two parts, zero where y <= 0 if `relu`. If `y` is nullptr
  /// (only without skip), y is recomputed from x.
  std::array<const std::byte*, 2> parts = {};  // the second is optional
  const float* inv_std = nullptr;
  std::byte* masked = nullptr;  // output for dy; optional; may be one of the parts
  /// dx = (dy - grad_mean - (x - mean) * proj_scale) * scale, as PyTorch's batch_norm_backward; if
  /// `relu`, dy counts as 0 where y <= 0.
  const std::byte* dy = nullptr;
  const float* grad_mean = nullptr;
  const float* proj_scale = nullptr;
  std::byte* dx = nullptr;
};

struct NormKernels {
  const char* name;
  /// Writes each lane's mean and sum of squared deviations from it.
  void (*measure)(const NormPiece& piece, float* mean, float* squares);
  void (*normalise)(const NormPiece& piece);
  /// Writes each lane's sums of dy and of dy * (x - mean) * inv_std; stores dy in `masked`.
  void (*sum)(const NormPiece& piece, float* dy, float* dy_z);
  void (*backward)(const NormPiece& piece);
};

/// Returns the kernels that this CPU can run, the widest vectors last; for tests. `type`: f32 or
/// bf16.
std::vector<NormKernels> norm_kernel_variants(DType type);
/// Returns the kernels with the widest vectors.
const NormKernels& norm_kernels(DType type);

}  // namespace dllaunch::onednn
