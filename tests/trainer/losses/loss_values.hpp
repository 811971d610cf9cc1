// Losses of a few rows, written as tables.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "trainer/losses/loss.hpp"

namespace dllaunch {

/// Targets that own their memory: labels, or one value per output.
struct OwnTargets {
  std::vector<std::int32_t> labels = {};
  std::vector<float> values = {};
};

struct LossValues {
  ForwardResult result;
  std::vector<double> gradient;
};

inline LossValues loss_of(const LossChoice& choice, const std::vector<double>& outputs, int rows,
                          const OwnTargets& targets) {
  LossValues values;
  values.gradient.resize(outputs.size());
  const Batch batch{
      .images = {}, .labels = targets.labels, .count = rows, .targets = targets.values};
  values.result = evaluate_loss(choice, batch, outputs, values.gradient);
  return values;
}

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double endless = std::numeric_limits<double>::infinity();

}  // namespace dllaunch
