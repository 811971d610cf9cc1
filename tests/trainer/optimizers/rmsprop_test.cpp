#include "tests/trainer/optimizers/following.hpp"

namespace dllaunch {
namespace {

using Names = std::vector<std::string_view>;

TEST(RmsProp, FollowsTheFormula) {
  const OptimizerOptions options{.weight_decay = 0.1, .eps = 1e-3, .alpha = 0.9};
  expect_follows("rmsprop", options, each_weight<1>([](double& w, double g, auto& s, auto& now) {
                   const double d = g + 0.1 * w;
                   s[0] = 0.9 * s[0] + 0.1 * d * d;
                   w -= now.lr * d / (std::sqrt(s[0]) + 1e-3);
                 }));
}

TEST(RmsProp, KeepsMomentum) {
  const OptimizerOptions options{.momentum = 0.8, .eps = 1e-3, .alpha = 0.9};
  expect_follows("rmsprop", options, each_weight<2>([](double& w, double g, auto& s, auto& now) {
                   s[0] = 0.9 * s[0] + 0.1 * g * g;
                   s[1] = 0.8 * s[1] + g / (std::sqrt(s[0]) + 1e-3);
                   w -= now.lr * s[1];
                 }));
}

TEST(RmsProp, MayBeCentred) {
  for (const double momentum : {0.0, 0.8}) {
    const OptimizerOptions options{
        .momentum = momentum, .eps = 1e-3, .alpha = 0.9, .centered = true};
    expect_follows("rmsprop", options,
                   each_weight<3>([momentum](double& w, double g, auto& s, auto& now) {
                     s[0] = 0.9 * s[0] + 0.1 * g * g;
                     s[1] = 0.9 * s[1] + 0.1 * g;
                     s[2] = momentum * s[2] + g / (std::sqrt(s[0] - s[1] * s[1]) + 1e-3);
                     w -= now.lr * s[2];
                   }));
  }
}

/// The variance of a constant is zero. Rounding must not make it negative: its root would be NaN.
TEST(RmsProp, CentredStaysFiniteForAGradientThatNeverChanges) {
  const OptimizerOptions options{.alpha = 0.5, .centered = true};
  const auto& rmsprop = *find_optimizer("rmsprop");
  for (int sample = 1; sample < 200; ++sample) {
    float w = 0;
    float s = 0;
    float a = 0;
    void* states[] = {&s, &a};
    for (int step = 0; step < 60; ++step) {
      float g = 0.1F * static_cast<float>(sample);
      rmsprop.update(DType::f32, options, {.lr = 1e-9},
                     {.elements = 1, .weights = &w, .gradients = &g, .states = states});
      ASSERT_TRUE(std::isfinite(w)) << g << " at step " << step;
    }
  }
}

TEST(RmsProp, NamesItsStatesAsPyTorchDoes) {
  const auto& rmsprop = *find_optimizer("rmsprop");
  EXPECT_EQ(rmsprop.states({}), (Names{"square_avg"}));
  EXPECT_EQ(rmsprop.states({.momentum = 0.9}), (Names{"square_avg", "momentum_buffer"}));
  EXPECT_EQ(rmsprop.states({.momentum = 0.9, .centered = true}),
            (Names{"square_avg", "momentum_buffer", "grad_avg"}));
}

}  // namespace
}  // namespace dllaunch
