// The losses of trainer/losses/table.hpp as kernels: elements in float, sums in double.
// loss_layer_test.cpp compares each with the one on the host.
#pragma once

#include "trainer/backends/gpu/kernels/element.hpp"
#include "trainer/losses/table.hpp"

namespace dllaunch::gpu {

/// Outputs [rows, width] on the device.
struct LossInputs {
  const float* outputs;
  Divisor width;
  RowTargets targets;
  float smoothing;
  LossRow<float>* rows;

  constexpr OutputRow<float> row(std::int64_t n) const {
    return output_row(outputs, width, targets, n, smoothing);
  }
};

/// One index per row.
template <typename Loss>
struct LossRows {
  LossInputs in;
  constexpr void operator()(std::int64_t n) const { in.rows[n] = Loss::row(in.row(n)); }
};

/// One index per output: grads = d(scale * sum of losses)/d(outputs), zero for rows from `present`
/// on.
template <typename Loss, typename T>
struct LossGrads {
  LossInputs in;
  std::int64_t present;
  const float* scale;  // in memory: it may change from step to step
  T* grads;
  constexpr void operator()(std::int64_t i) const {
    const std::int64_t n = i / in.width;
    const float grad = n < present ? Loss::grad(in.row(n), in.rows[n], i % in.width) : 0;
    set(grads[i], *scale * grad);
  }
};

}  // namespace dllaunch::gpu
