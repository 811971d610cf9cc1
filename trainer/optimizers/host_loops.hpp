// The CPU loops of all optimisers, and optimizer_entry(), which makes an optimiser's table entry.
//
// Compiled with -O3 for the architecture's baseline (trainer/CMakeLists.txt): the loops are
// memory-bound, and ranks on different CPU generations must get the same bits.
#pragma once

#include <algorithm>
#include <array>

#include "trainer/optimizers/step.hpp"

namespace dllaunch {

/// Calls `step` with a zero of the arenas' type: double{} or float{}.
template <typename Step>
auto with_type(DType type, Step step) {
  return type == DType::f64 ? step(double{}) : step(float{});
}

template <typename Real>
Elements<Real> elements_of(const ParameterUpdate& slot) {
  const auto state = [&](std::size_t i) {
    return i < slot.states.size() ? static_cast<Real*>(slot.states[i]) : nullptr;
  };
  return {static_cast<Real*>(slot.weights), static_cast<Real*>(slot.gradients), state(0), state(1),
          state(2)};
}

/// Returns the sum of squares in double. Independent lanes let the compiler vectorise it.
template <typename Real>
double sum_of_squares(const Real* values, std::size_t count) {
  constexpr std::size_t lanes = 16;
  std::array<double, lanes> sums{};
  const std::size_t whole = count - count % lanes;
  for (std::size_t i = 0; i < whole; i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const double value = values[i + lane];
      sums[lane] += value * value;
    }
  }
  for (std::size_t i = whole; i < count; ++i) {
    const double value = values[i];
    sums[i - whole] += value * value;
  }
  double sum = 0;
  for (const double lane : sums) sum += lane;
  return sum;
}

/// Calls step(of, i, of_slot...) for i in [begin, end). Arguments are passed by value, so the
/// compiler knows that the loop does not modify them. `of_slot`: none or one.
template <typename Real, typename Step, typename... OfSlot>
void for_elements(std::size_t begin, std::size_t end, Elements<Real> of, Step step,
                  OfSlot... of_slot) {
  const auto last = static_cast<std::int64_t>(end);
  for (auto i = static_cast<std::int64_t>(begin); i < last; ++i) step(of, i, of_slot...);
}

template <typename Optimizer>
void update_on_host(DType type, const OptimizerOptions& options, const StepInfo& now,
                    const ParameterUpdate& slot) {
  with_type(type, [&](auto zero) {
    using Real = decltype(zero);
    const Elements<Real> of = elements_of<Real>(slot);
    Optimizer::template step<Real>(options, now, [&](const auto& step) {
      if constexpr (Measures<Optimizer>) {
        for_elements(
            0, slot.elements, of, step,
            Optimizer::template of_slot<Real>(
                options, now, {slot.one_dimensional, slot.weight_norm, slot.gradient_norm}));
      } else {
        for_elements(0, slot.elements, of, step);
      }
    });
  });
}

template <typename Optimizer>
SquareSums measure_on_host(DType type, const OptimizerOptions& options, const StepInfo& now,
                           const ParameterUpdate& slot) {
  return with_type(type, [&](auto zero) {
    using Real = decltype(zero);
    const Elements<Real> of = elements_of<Real>(slot);
    SquareSums sums;
    const auto measure = [&](std::size_t begin, std::size_t end) {
      if (slot.one_dimensional) return;
      sums.weights += sum_of_squares(of.weights + begin, end - begin);
      sums.gradients += sum_of_squares(of.gradients + begin, end - begin);
    };
    if constexpr (Directs<Optimizer>) {
      // A chunk stays in the cache until it is measured, so memory is read once.
      constexpr std::size_t chunk = 1024;
      const auto direct = Optimizer::template direct<Real>(options, now);
      const auto of_slot = Optimizer::template of_slot<Real>(options, now, {slot.one_dimensional});
      for (std::size_t begin = 0; begin < slot.elements; begin += chunk) {
        const std::size_t end = std::min(begin + chunk, slot.elements);
        for_elements(begin, end, of, direct, of_slot);
        measure(begin, end);
      }
    } else {
      measure(0, slot.elements);
    }
    return sums;
  });
}

template <typename Optimizer>
constexpr OptimizerEntry optimizer_entry() {
  OptimizerEntry entry{.name = Optimizer::name,
                       .summary = Optimizer::summary,
                       .options = Optimizer::options,
                       .defaults = Optimizer::defaults,
                       .states = Optimizer::states,
                       .update = update_on_host<Optimizer>,
                       .directs = Directs<Optimizer>};
  if constexpr (Measures<Optimizer>) entry.measure = measure_on_host<Optimizer>;
  if constexpr (HasProblem<Optimizer>) entry.problem = Optimizer::problem;
  return entry;
}

}  // namespace dllaunch
