// The optimisers of trainer/optimizers/table.hpp as kernels. optimizer_kernels_test.cpp compares
// each with the one on the host.
#pragma once

#include <cmath>

#include "trainer/backends/gpu/kernels/packs.hpp"
#include "trainer/optimizers/table.hpp"

namespace dllaunch::gpu {

/// Maps elements to slots: slot s is offsets[s] .. offsets[s + 1], including the gap after it.
struct SlotTable {
  const std::int64_t* offsets;
  std::int64_t count;
  std::int64_t first;  // arena element of index 0

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

/// Sets `found` to 1 if a gradient is not finite.
struct MultiplyGradients {
  static constexpr int pack = pack_of<float>;
  float* gradients;
  float by;
  int* found;
  bool in_packs() const { return aligned<pack>(gradients); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    auto values = read<N>(gradients, i);
    for (float& value : values.of) {
      if (!(value - value == 0)) *found = 1;
      value *= by;
    }
    write(gradients, i, values);
  }
};

/// A step with the same coefficients for all parameters.
template <typename Step>
struct UpdateElements {
  Elements<float> of;
  Step step;
  constexpr void operator()(std::int64_t i) const { step(of, i); }
};

/// A step with coefficients per parameter: slots[slot].
template <typename Step, typename OfSlot>
struct UpdateBySlot {
  Elements<float> of;
  Step step;
  SlotTable table;
  const OfSlot* slots;
  constexpr void operator()(std::int64_t i) const { step(of, i, slots[table.slot_of(i)]); }
};

/// Sums of squares of weights and gradients, for the slots from `begin` on and only within the
/// arrays, in `parts` partial sums each: sums [slots, parts, 2]. Adjacent indexes read adjacent
/// elements.
template <typename Real>
struct SquareParts {
  const float* weights;
  const float* gradients;
  std::int64_t elements;
  SlotTable slots;
  std::int64_t begin;
  Divisor parts;
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

/// squares [slots, 2]: adds up the partial sums in order.
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
