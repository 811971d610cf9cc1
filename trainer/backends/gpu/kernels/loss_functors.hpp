// The losses of trainer/losses/table.hpp as kernels. loss_layer_test.cpp holds each to the one on
// the host. Elements are in float, sums in double.
#pragma once

#include "trainer/backends/gpu/kernels/element.hpp"
#include "trainer/losses/table.hpp"

namespace dllaunch::gpu {

/// Outputs [rows, width] on the device.
struct LossInputs {
  const float* outputs;
  std::int64_t width;
  RowTargets targets;
  float smoothing;
  LossRow<float>* rows;

  constexpr OutputRow<float> row(std::int64_t n) const {
    return output_row(outputs, width, targets, n, smoothing);
  }
};

/// An index for each row.
template <typename Loss>
struct LossRows {
  LossInputs in;
  constexpr void operator()(std::int64_t n) const { in.rows[n] = Loss::row(in.row(n)); }
};

/// An index for each output: slopes of `scale` * the sum of losses. Rows from `present` on have
/// none.
template <typename Loss, typename T>
struct LossSlopes {
  LossInputs in;
  std::int64_t present;
  const float* scale;  // in memory, since it may be another in every step
  T* slopes;
  constexpr void operator()(std::int64_t i) const {
    const std::int64_t n = i / in.width;
    const float slope = n < present ? Loss::slope(in.row(n), in.rows[n], i % in.width) : 0;
    set(slopes[i], *scale * slope);
  }
};

}  // namespace dllaunch::gpu
