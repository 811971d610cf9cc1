// The optimisers of trainer/optimizers/table.hpp as kernels. optimizer_kernels_test.cpp compares
// each with the one on the host.
#pragma once

#include <cmath>

#include "trainer/backends/gpu/kernels/packs.hpp"
#include "trainer/optimizers/table.hpp"

namespace dllaunch::gpu {

/// Maps elements to slots: slot s is offsets[s] .. offsets[s + 1], including the gap after it.
/// Offsets are multiples of 16 (ArenaLayout), so no pack is of two slots.
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

/// average += share * (weights - average).
struct MoveTowards {
  static constexpr int pack = pack_of<float>;
  float* average;
  const float* weights;
  float share;
  bool in_packs() const { return aligned<pack>(average, weights); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    auto moved = read<N>(average, i);
    const auto from = read<N>(weights, i);
    for (int k = 0; k < N; ++k) moved.of[k] += share * (from.of[k] - moved.of[k]);
    write(average, i, moved);
  }
};

constexpr int update_pack = pack_of<float>;

/// What a step writes besides the states: weights, or gradients if it is a direct() one.
enum class Writes { weights, gradients };

/// Elements i .. i + N - 1 in registers. States that are absent are not accessed.
template <int N>
class HeldElements {
 public:
  constexpr HeldElements(const Elements<float>& from, std::int64_t i)
      : weights_(read<N>(from.weights, i)),
        gradients_(read<N>(from.gradients, i)),
        first_(read_state(from.first, i)),
        second_(read_state(from.second, i)),
        third_(read_state(from.third, i)) {}

  constexpr Elements<float> pointers() {
    return {weights_.of, gradients_.of, first_.of, second_.of, third_.of};
  }
  template <Writes writes>
  constexpr void write_to(const Elements<float>& to, std::int64_t i) const {
    if constexpr (writes == Writes::weights) write(to.weights, i, weights_);
    if constexpr (writes == Writes::gradients) write(to.gradients, i, gradients_);
    if (to.first != nullptr) write(to.first, i, first_);
    if (to.second != nullptr) write(to.second, i, second_);
    if (to.third != nullptr) write(to.third, i, third_);
  }

 private:
  static constexpr Floats<N> read_state(const float* from, std::int64_t i) {
    return from == nullptr ? Floats<N>{} : read<N>(from, i);
  }

  Floats<N> weights_;
  Floats<N> gradients_;
  Floats<N> first_;
  Floats<N> second_;
  Floats<N> third_;
};

inline bool aligned_for_update(const Elements<float>& of) {
  return aligned<update_pack>(of.weights, of.gradients, of.first, of.second, of.third);
}

/// A step with the same coefficients for all parameters.
template <typename Step>
struct UpdateElements {
  static constexpr int pack = update_pack;
  Elements<float> of;
  Step step;
  bool in_packs() const { return aligned_for_update(of); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    HeldElements<N> held(of, i);
    for (int k = 0; k < N; ++k) step(held.pointers(), k);
    held.template write_to<Writes::weights>(of, i);
  }
};

/// A step with coefficients per parameter: slots[slot].
template <typename Step, typename OfSlot, Writes writes>
struct UpdateBySlot {
  static constexpr int pack = update_pack;
  Elements<float> of;
  Step step;
  SlotTable table;
  const OfSlot* slots;
  bool in_packs() const { return table.first % pack == 0 && aligned_for_update(of); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    const OfSlot slot = slots[table.slot_of(i)];
    HeldElements<N> held(of, i);
    for (int k = 0; k < N; ++k) step(held.pointers(), k, slot);
    held.template write_to<writes>(of, i);
  }
};

/// Sums of squares, in double since they are divided by each other.
template <typename Real>
struct Squares {
  Real weights;
  Real gradients;
};

/// Blocks that sum a slot. Known to the compiler, which divides by it.
constexpr std::int64_t square_parts = 32;

/// One block for each of the `square_parts` parts of a slot, for the slots from `begin` on and only
/// within the arrays: sums [slots, square_parts]. Adjacent lanes read adjacent elements.
template <typename Real>
struct SquareParts {
  using Part = Squares<Real>;
  const float* weights;
  const float* gradients;
  std::int64_t elements;
  SlotTable slots;
  std::int64_t begin;
  Part* sums;
  constexpr Part part(std::int64_t i, std::int64_t lane, std::int64_t lanes) const {
    const std::int64_t slot = begin + i / square_parts;
    const std::int64_t from = slots.offsets[slot] - slots.first;
    const std::int64_t to = slots.offsets[slot + 1] - slots.first;
    const std::int64_t end = to < elements ? to : elements;
    Part sum{};
    std::int64_t e = (from > 0 ? from : 0) + i % square_parts * lanes + lane;
    for (; e < end; e += square_parts * lanes) {
      const Real w = weights[e];
      const Real g = gradients[e];
      sum.weights += w * w;
      sum.gradients += g * g;
    }
    return sum;
  }
  static constexpr void join(Part& to, const Part& from) {
    to.weights += from.weights;
    to.gradients += from.gradients;
  }
  constexpr void finish(std::int64_t i, const Part& sum) const { sums[i] = sum; }
};

/// One block per slot: adds up its parts.
template <typename Real>
struct JoinSquares {
  using Part = Squares<Real>;
  const Part* sums;
  Part* squares;
  constexpr Part part(std::int64_t slot, std::int64_t lane, std::int64_t lanes) const {
    Part sum{};
    for (std::int64_t i = lane; i < square_parts; i += lanes) {
      join(sum, sums[slot * square_parts + i]);
    }
    return sum;
  }
  static constexpr void join(Part& to, const Part& from) { SquareParts<Real>::join(to, from); }
  constexpr void finish(std::int64_t slot, const Part& sum) const { squares[slot] = sum; }
};

}  // namespace dllaunch::gpu
