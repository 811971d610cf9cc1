// What trainer/optimizers/*.cpp do to one element of the arenas, for a GPU. The formulas and their
// sources stand there; optimizer_kernels_test.cpp holds each to the one on the host.
#pragma once

#include <cmath>

#include "trainer/backends/gpu/kernels/element.hpp"

namespace dllaunch::gpu {

/// Arenas of floats, from the first element that is updated on.
struct ArenaElements {
  float* weights;
  float* gradients;
  float* first;  // states, in the optimiser's order; nullptr: it has fewer
  float* second;
  float* third;
};

/// Where parameters begin, for what differs between them: offsets[slot] .. offsets[slot + 1], the
/// gap behind a slot being its own.
struct SlotTable {
  const std::int64_t* offsets;
  std::int64_t count;
  std::int64_t first;  // element of the arenas that index 0 is

  constexpr std::int64_t slot_of(std::int64_t index) const {
    const std::int64_t element = first + index;
    std::int64_t low = 0;
    std::int64_t high = count;
    while (high - low > 1) {
      const std::int64_t middle = (low + high) / 2;
      if (offsets[middle] <= element) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return low;
  }
};

/// `found` becomes 1 where one is no number.
struct MultiplyGradients {
  float* gradients;
  float by;
  int* found;
  constexpr void operator()(std::int64_t i) const {
    const float value = gradients[i];
    gradients[i] = value * by;
    if (!(value - value == 0)) *found = 1;
  }
};

template <typename Real>
struct SgdStep {
  ArenaElements of;
  Real lr;
  Real momentum;
  Real decay;
  bool nesterov;
  constexpr void operator()(std::int64_t i) const {
    const Real d = of.gradients[i] + decay * of.weights[i];
    if (of.first == nullptr) {
      of.weights[i] -= lr * d;
      return;
    }
    const Real v = momentum * of.first[i] + d;
    of.first[i] = v;
    of.weights[i] -= lr * (nesterov ? d + momentum * v : v);
  }
};

/// adam and adamw.
template <typename Real>
struct AdamStep {
  ArenaElements of;
  Real b1;
  Real b2;
  Real rest1;
  Real rest2;
  Real rate;
  Real root;
  Real eps;
  Real decay;
  Real shrink;
  constexpr void operator()(std::int64_t i) const {
    const Real w = of.weights[i];
    const Real d = of.gradients[i] + decay * w;
    const Real m = b1 * of.first[i] + rest1 * d;
    const Real v = b2 * of.second[i] + rest2 * d * d;
    of.first[i] = m;
    of.second[i] = v;
    of.weights[i] = shrink * w - rate * (m / (std::sqrt(v) / root + eps));
  }
};

/// `momentum` is nullptr without one, `average` where it is not centred.
template <typename Real>
struct RmspropStep {
  ArenaElements of;
  Real* momentum;
  Real* average;
  Real lr;
  Real alpha;
  Real rest;
  Real eps;
  Real decay;
  Real keep;
  constexpr void operator()(std::int64_t i) const {
    const Real d = of.gradients[i] + decay * of.weights[i];
    const Real s = alpha * of.first[i] + rest * d * d;
    of.first[i] = s;
    Real variance = s;
    if (average != nullptr) {
      const Real a = alpha * average[i] + rest * d;
      average[i] = a;
      variance = s - a * a;
      if (variance < 0) variance = 0;
    }
    Real u = d / (std::sqrt(variance) + eps);
    if (momentum != nullptr) {
      u = keep * momentum[i] + u;
      momentum[i] = u;
    }
    of.weights[i] -= lr * u;
  }
};

template <typename Real>
struct AdagradStep {
  ArenaElements of;
  Real lr;
  Real eps;
  Real decay;
  constexpr void operator()(std::int64_t i) const {
    const Real d = of.gradients[i] + decay * of.weights[i];
    const Real s = of.first[i] + d * d;
    of.first[i] = s;
    of.weights[i] -= lr * (d / (std::sqrt(s) + eps));
  }
};

template <typename Real>
struct AdadeltaStep {
  ArenaElements of;
  Real lr;
  Real rho;
  Real rest;
  Real eps;
  Real decay;
  constexpr void operator()(std::int64_t i) const {
    const Real d = of.gradients[i] + decay * of.weights[i];
    const Real s = rho * of.first[i] + rest * d * d;
    of.first[i] = s;
    const Real u = std::sqrt(of.second[i] + eps) / std::sqrt(s + eps) * d;
    of.second[i] = rho * of.second[i] + rest * u * u;
    of.weights[i] -= lr * u;
  }
};

template <typename Real>
struct RmspropWarmupStep {
  ArenaElements of;
  Real lr;
  Real plain;
  Real scaled;
  Real momentum;
  Real alpha;
  Real rest;
  Real eps;
  Real decay;
  constexpr void operator()(std::int64_t i) const {
    const Real d = of.gradients[i] + decay * of.weights[i];
    const Real s = alpha * of.first[i] + rest * d * d;
    of.first[i] = s;
    const Real v = momentum * of.second[i] + (plain + scaled / (std::sqrt(s) + eps)) * d;
    of.second[i] = v;
    of.weights[i] -= lr * v;
  }
};

/// factors and decays by slot.
template <typename Real>
struct LarsStep {
  ArenaElements of;
  SlotTable slots;
  const Real* factors;
  const Real* decays;
  Real outside;
  Real momentum;
  constexpr void operator()(std::int64_t i) const {
    const std::int64_t slot = slots.slot_of(i);
    const Real step = factors[slot] * (of.gradients[i] + decays[slot] * of.weights[i]);
    const Real v = of.first == nullptr ? step : momentum * of.first[i] + step;
    if (of.first != nullptr) of.first[i] = v;
    of.weights[i] -= outside * v;
  }
};

/// Gradients become directions.
template <typename Real>
struct LambDirect {
  ArenaElements of;
  SlotTable slots;
  const Real* decays;
  Real b1;
  Real b2;
  Real rest1;
  Real rest2;
  Real first;  // what makes up for the start at zero
  Real second;
  Real eps;
  constexpr void operator()(std::int64_t i) const {
    const Real g = of.gradients[i];
    const Real m = b1 * of.first[i] + rest1 * g;
    const Real v = b2 * of.second[i] + rest2 * g * g;
    of.first[i] = m;
    of.second[i] = v;
    of.gradients[i] =
        m * first / (std::sqrt(v * second) + eps) + decays[slots.slot_of(i)] * of.weights[i];
  }
};

template <typename Real>
struct LambStep {
  ArenaElements of;
  SlotTable slots;
  const Real* rates;
  constexpr void operator()(std::int64_t i) const {
    of.weights[i] -= rates[slots.slot_of(i)] * of.gradients[i];
  }
};

/// Squares of weights and gradients of the slots from `begin` on, as far as they lie within the
/// arrays, in `parts` sums each: sums [slots, parts, 2]. Slot, part and element are dealt out so
/// that neighbouring indexes read neighbouring elements.
template <typename Real>
struct SquareParts {
  const float* weights;
  const float* gradients;
  std::int64_t elements;
  SlotTable slots;
  std::int64_t begin;
  std::int64_t parts;
  Real* sums;
  constexpr void operator()(std::int64_t i) const {
    const std::int64_t slot = begin + i / parts;
    const std::int64_t from = slots.offsets[slot] - slots.first;
    const std::int64_t to = slots.offsets[slot + 1] - slots.first;
    const std::int64_t end = to < elements ? to : elements;
    Real of_weights = 0;
    Real of_gradients = 0;
    for (std::int64_t e = (from > 0 ? from : 0) + i % parts; e < end; e += parts) {
      const Real w = weights[e];
      const Real g = gradients[e];
      of_weights += w * w;
      of_gradients += g * g;
    }
    sums[2 * i] = of_weights;
    sums[2 * i + 1] = of_gradients;
  }
};

/// squares [slots, 2], from the sums in order.
template <typename Real>
struct JoinSquares {
  const Real* sums;
  std::int64_t parts;
  Real* squares;
  constexpr void operator()(std::int64_t i) const {
    const std::int64_t slot = i / 2;
    Real sum = 0;
    for (std::int64_t part = 0; part < parts; ++part) {
      sum += sums[2 * (slot * parts + part) + i % 2];
    }
    squares[i] = sum;
  }
};

}  // namespace dllaunch::gpu
