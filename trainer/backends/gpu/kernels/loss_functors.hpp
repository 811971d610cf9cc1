// The losses of trainer/losses/table.hpp as kernels: elements in float, a row's sums in double.
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

/// One block per row: sets `largest` of its LossRow.
struct LargestOutputs {
  using Part = float;
  LossInputs in;
  constexpr Part part(std::int64_t n, std::int64_t lane, std::int64_t lanes) const {
    return largest_of(in.row(n), {lane, lanes});
  }
  static constexpr void join(Part& to, const Part& from) { to = from > to ? from : to; }
  constexpr void finish(std::int64_t n, const Part& largest) const { in.rows[n].largest = largest; }
};

/// One block per row, after LargestOutputs.
template <typename Loss>
struct LossRows {
  using Part = LossSums<double>;
  LossInputs in;
  constexpr Part part(std::int64_t n, std::int64_t lane, std::int64_t lanes) const {
    return sums_of<Loss>(in.row(n), in.rows[n].largest, {lane, lanes});
  }
  static constexpr void join(Part& to, const Part& from) {
    to.sum += from.sum;
    to.fit += from.fit;
    to.correct = to.correct && from.correct;
  }
  constexpr void finish(std::int64_t n, const Part& sums) const {
    in.rows[n] = Loss::row(in.row(n), in.rows[n].largest, sums);
  }
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
