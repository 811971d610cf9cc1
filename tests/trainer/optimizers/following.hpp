// Compares optimisers with written-out formulas on the same gradients.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "trainer/optimizers/optimizer.hpp"

namespace dllaunch {

/// Odd, so that vectorised loops have a remainder.
constexpr std::size_t followed_elements = 37;

inline double first_weight(std::size_t i) {
  return 0.4 * std::sin(1.3 * static_cast<double>(i));
}

/// Returns gradients of all magnitudes and both signs; always zero for one element.
inline double gradient_at(int step, std::size_t i) {
  if (i == 5) return 0;
  const double phase = 0.7 * static_cast<double>(i) + 1.9 * step;
  return std::sin(phase) * std::pow(10.0, static_cast<double>(i % 4) - 2);
}

/// Returns the step's StepInfo: five steps with changing rates, around the eleventh epoch.
inline StepInfo when(int step) {
  const auto rate = [](int of) { return 0.02 / (1 + 0.3 * of); };
  return {.lr = rate(step),
          .step = step + 1,
          .epoch = 9.0 + 0.9 * step,
          .previous_lr = step > 0 ? rate(step - 1) : 0};
}
constexpr int followed_steps = 5;

/// One parameter, updated as ParameterArenas does.
template <typename Real>
class Followed {
 public:
  Followed(const OptimizerEntry& entry, const OptimizerOptions& options,
           bool one_dimensional = false)
      : entry_(entry), options_(options), one_dimensional_(one_dimensional) {
    for (std::size_t i = 0; i < followed_elements; ++i) {
      weights.push_back(static_cast<Real>(first_weight(i)));
    }
    states.assign(entry.states(options).size(), std::vector<Real>(followed_elements));
  }

  void step(int index) { step(index, when(index)); }
  void step(int index, const StepInfo& now, double (*gradient)(int, std::size_t) = gradient_at) {
    std::vector<Real> gradients;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      gradients.push_back(static_cast<Real>(gradient(index, i)));
    }
    std::vector<void*> pointers;
    for (auto& state : states) pointers.push_back(state.data());
    const DType type = sizeof(Real) == 8 ? DType::f64 : DType::f32;
    ParameterUpdate slot{.elements = weights.size(),
                         .weights = weights.data(),
                         .gradients = gradients.data(),
                         .states = pointers,
                         .one_dimensional = one_dimensional_};
    if (entry_.measure != nullptr) {
      const SquareSums sums = entry_.measure(type, options_, now, slot);
      slot.weight_norm = std::sqrt(sums.weights);
      slot.gradient_norm = std::sqrt(sums.gradients);
    }
    entry_.update(type, options_, now, slot);
  }

  std::vector<Real> weights;
  std::vector<std::vector<Real>> states;

 private:
  const OptimizerEntry& entry_;
  OptimizerOptions options_;
  bool one_dimensional_;
};

/// One step of a written-out optimiser on all weights; it keeps its own state.
using WrittenOut =
    std::function<void(std::vector<double>& w, const std::vector<double>& g, const StepInfo& now)>;

/// Tolerances relative to the largest weight: 1e-13 in double, 1e-6 in float.
inline void expect_follows(std::string_view name, const OptimizerOptions& options,
                           const WrittenOut& rule, bool one_dimensional = false) {
  const OptimizerEntry& entry = *find_optimizer(name);
  Followed<double> exact(entry, options, one_dimensional);
  Followed<float> single(entry, options, one_dimensional);
  std::vector<double> expected = exact.weights;
  for (int step = 0; step < followed_steps; ++step) {
    std::vector<double> gradients;
    for (std::size_t i = 0; i < followed_elements; ++i) gradients.push_back(gradient_at(step, i));
    rule(expected, gradients, when(step));
    exact.step(step);
    single.step(step);
    for (std::size_t i = 0; i < followed_elements; ++i) {
      ASSERT_NEAR(exact.weights[i], expected[i], 1e-13) << "step " << step << ", element " << i;
      ASSERT_NEAR(single.weights[i], expected[i], 1e-6) << "step " << step << ", element " << i;
    }
  }
}

/// An elementwise rule with `states` numbers per weight: rule(w, g, state, now).
template <std::size_t states, typename Rule>
WrittenOut each_weight(Rule rule) {
  std::vector<std::array<double, states>> kept(followed_elements);
  return [rule, kept](std::vector<double>& w, const std::vector<double>& g,
                      const StepInfo& now) mutable {
    for (std::size_t i = 0; i < w.size(); ++i) rule(w[i], g[i], kept[i], now);
  };
}

}  // namespace dllaunch
