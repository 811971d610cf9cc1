// What trainer/losses/*.cpp do to outputs, for a GPU. The formulas and their sources stand there;
// loss_layer_test.cpp holds each to the one on the host. Elements are in float, sums in double.
#pragma once

#include <cmath>
#include <cstdint>

#include "trainer/backends/gpu/kernels/element.hpp"

namespace dllaunch::gpu {

/// What rows of outputs are compared with: one of the two is there.
struct RowTargets {
  const std::int32_t* labels;  // [rows]
  const float* values;         // [rows, outputs]

  constexpr float at(std::int64_t row, std::int64_t k, std::int64_t outputs) const {
    if (values != nullptr) return values[row * outputs + k];
    return labels[row] == k ? 1 : 0;
  }
};

/// Of one row: its loss, whether it is right, and what its slopes need.
struct LossRow {
  double loss;
  double sum;     // of exp(output - largest)
  float largest;  // output
  std::int32_t right;
};

constexpr bool is_number(float x) {
  return x - x == 0;
}

/// The first of equal largest outputs is the label's, and all are numbers.
constexpr bool has_label_largest(const float* row, std::int64_t outputs, std::int64_t label) {
  std::int64_t best = 0;
  for (std::int64_t k = 0; k < outputs; ++k) {
    if (!is_number(row[k])) return false;
    if (row[k] > row[best]) best = k;
  }
  return best == label;
}

/// An index for each row.
struct SoftmaxRows {
  const float* outputs;
  std::int64_t width;
  RowTargets targets;
  float smoothing;
  LossRow* rows;
  constexpr void operator()(std::int64_t n) const {
    const float* const row = outputs + n * width;
    const std::int32_t label = targets.labels[n];
    float largest = row[0];
    for (std::int64_t k = 1; k < width; ++k) {
      if (row[k] > largest) largest = row[k];
    }
    double sum = 0;
    double all = 0;
    for (std::int64_t k = 0; k < width; ++k) {
      sum += std::exp(row[k] - largest);
      all += row[k] - largest;
    }
    double fit = (1 - smoothing) * (row[label] - largest);
    if (smoothing > 0) fit += smoothing / static_cast<double>(width) * all;
    rows[n] = {std::log(sum) - fit, sum, largest, has_label_largest(row, width, label) ? 1 : 0};
  }
};

/// An index for each output, as for all slopes: of `scale` * the sum of losses. Rows from `present`
/// on have none.
template <typename T>
struct SoftmaxSlopes {
  const float* outputs;
  std::int64_t width;
  RowTargets targets;
  float smoothing;
  const LossRow* rows;
  std::int64_t present;
  const float* scale;  // in memory, since it may be another in every step
  T* slopes;
  constexpr void operator()(std::int64_t i) const {
    const std::int64_t n = i / width;
    float slope = 0;
    if (n < present) {
      const float share = smoothing / static_cast<float>(width);
      slope = std::exp(outputs[i] - rows[n].largest) / static_cast<float>(rows[n].sum) - share;
      if (targets.labels[n] == i % width) slope -= 1 - smoothing;
    }
    set(slopes[i], *scale * slope);
  }
};

struct SigmoidRows {
  const float* outputs;
  std::int64_t width;
  RowTargets targets;
  float smoothing;
  LossRow* rows;
  constexpr void operator()(std::int64_t n) const {
    const float* const row = outputs + n * width;
    double sum = 0;
    bool same = true;
    for (std::int64_t k = 0; k < width; ++k) {
      const float x = row[k];
      const float target = targets.at(n, k, width);
      const float t = (1 - smoothing) * target + smoothing / 2;
      const float e = std::exp(x < 0 ? x : -x);
      sum += (x < 0 ? 0 : x) - x * t + std::log1p(e);
      same = same && x == x && (x > 0) == (target > 0.5F);
    }
    const bool right =
        targets.values == nullptr ? has_label_largest(row, width, targets.labels[n]) : same;
    rows[n] = {sum / static_cast<double>(width), 0, 0, right ? 1 : 0};
  }
};

template <typename T>
struct SigmoidSlopes {
  const float* outputs;
  std::int64_t width;
  RowTargets targets;
  float smoothing;
  std::int64_t present;
  const float* scale;  // in memory, since it may be another in every step
  T* slopes;
  constexpr void operator()(std::int64_t i) const {
    const std::int64_t n = i / width;
    float slope = 0;
    if (n < present) {
      const float x = outputs[i];
      const float t = (1 - smoothing) * targets.at(n, i % width, width) + smoothing / 2;
      const float e = std::exp(x < 0 ? x : -x);
      slope = ((x < 0 ? e : 1) / (1 + e) - t) / static_cast<float>(width);
    }
    set(slopes[i], *scale * slope);
  }
};

struct SquaredRows {
  const float* outputs;
  std::int64_t width;
  RowTargets targets;
  LossRow* rows;
  constexpr void operator()(std::int64_t n) const {
    const float* const row = outputs + n * width;
    double squares = 0;
    for (std::int64_t k = 0; k < width; ++k) {
      const double error = row[k] - targets.at(n, k, width);
      squares += error * error;
    }
    const bool right =
        targets.values == nullptr && has_label_largest(row, width, targets.labels[n]);
    rows[n] = {squares / static_cast<double>(width), 0, 0, right ? 1 : 0};
  }
};

template <typename T>
struct SquaredSlopes {
  const float* outputs;
  std::int64_t width;
  RowTargets targets;
  std::int64_t present;
  const float* scale;  // in memory, since it may be another in every step
  T* slopes;
  constexpr void operator()(std::int64_t i) const {
    const std::int64_t n = i / width;
    const float error = n < present ? outputs[i] - targets.at(n, i % width, width) : 0;
    set(slopes[i], *scale * 2 * error / static_cast<float>(width));
  }
};

}  // namespace dllaunch::gpu
