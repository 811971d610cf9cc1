// Vectorised loops over one row of floats: softmax, layer normalisation, the loss of a token.
#pragma once

#include <cstddef>
#include <vector>

namespace dllaunch::onednn {

/// What a token's loss needs of its logits.
struct LogitSums {
  float largest = 0;
  float exponentials = 0;  // sum of exp(logit - largest)
  float distances = 0;     // sum of logit - largest
};

/// One token of a layer normalisation; arrays are float[width].
struct NormRow {
  std::size_t width = 0;
  const float* x = nullptr;
  const float* weight = nullptr;
  const float* bias = nullptr;  // forward
  float* y = nullptr;           // forward
  float mean = 0;               // the forward pass writes it, the backward pass reads it
  float inv_std = 0;            // likewise
  const float* dy = nullptr;
  float* dx = nullptr;       // nullptr: not needed; may be dy
  float* dweight = nullptr;  // added to
  float* dbias = nullptr;    // added to
};

/// NaN in a row makes the results NaN.
struct RowKernels {
  const char* name;
  /// x[i] = softmax over x[0..n) of scale * x; zeros up to `padded`, a multiple of 16.
  void (*softmax)(float* x, std::size_t n, std::size_t padded, float scale);
  /// dp[i] = scale * p[i] * (dp[i] - sum of p dp); n: a multiple of 16.
  void (*softmax_backward)(const float* p, float* dp, std::size_t n, float scale);
  LogitSums (*sum_logits)(const float* x, std::size_t n);
  /// dx[i] = factor * exp(x[i] - largest) - shift; dx may be x.
  void (*logit_gradients)(const float* x, float* dx, std::size_t n, float largest, float factor,
                          float shift);
  /// mean and inv_std = 1 / sqrt(var + eps); y = (x - mean) * inv_std * weight + bias.
  void (*layer_norm)(NormRow& row, float eps);
  /// As trainer/graph/layers/sequences/layer_norm.hpp says.
  void (*layer_norm_backward)(const NormRow& row);
};

/// Returns the kernels that this CPU can run, the widest vectors last; for tests.
std::vector<RowKernels> row_kernel_variants();
/// Returns the kernels with the widest vectors.
const RowKernels& row_kernels();

}  // namespace dllaunch::onednn
