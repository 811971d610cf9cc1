#include "trainer/optimizer.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(Optimizer, IsFoundByName) {
  ASSERT_FALSE(optimizers().empty());
  for (const auto& entry : optimizers()) {
    EXPECT_EQ(find_optimizer(entry.name), &entry);
    EXPECT_FALSE(entry.summary.empty());
  }
  EXPECT_EQ(find_optimizer("SGD"), nullptr);
}

/// What pads a slot must stay zero, or layouts with padding would drift.
TEST(Optimizer, LeavesZeroAtZero) {
  const OptimizerOptions options{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1};
  for (const auto& entry : optimizers()) {
    std::vector<float> weights(3);
    const std::vector<float> gradients(3);
    std::vector<std::vector<float>> states(entry.states(options).size(), std::vector<float>(3));
    std::vector<void*> pointers;
    for (auto& state : states) pointers.push_back(state.data());
    for (int step = 0; step < 3; ++step) {
      entry.update(DType::f32, options, 0.1, {3, weights.data(), gradients.data(), pointers});
    }
    EXPECT_EQ(weights, std::vector<float>(3)) << entry.name;
  }
}

}  // namespace
}  // namespace dllaunch
