#include "tests/trainer/optimizers/following.hpp"

namespace dllaunch {
namespace {

using Names = std::vector<std::string_view>;

double norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

struct Lars {
  double momentum = 0;
  double decay = 0;
  bool inside = true;
  bool corrected = false;
  bool adapts = true;
  std::vector<double> v = std::vector<double>(followed_elements);

  void operator()(std::vector<double>& w, const std::vector<double>& g, const StepInfo& now) {
    const double wd = adapts ? decay : 0;
    const double local = adapts ? 0.02 * norm(w) / (norm(g) + decay * norm(w)) : 1;
    const double follow = corrected && now.previous_lr > 0 ? now.lr / now.previous_lr : 1;
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double d = local * (g[i] + wd * w[i]);
      v[i] = momentum * follow * v[i] + (inside ? now.lr * d : d);
      w[i] -= inside ? v[i] : now.lr * v[i];
    }
  }
};

TEST(Lars, FollowsThePapersFormula) {
  for (const double momentum : {0.0, 0.9}) {
    expect_follows("lars", {.momentum = momentum, .weight_decay = 0.1, .trust_coefficient = 0.02},
                   Lars{.momentum = momentum, .decay = 0.1});
  }
}

TEST(Lars, MayHaveTheRateOutsideTheMomentum) {
  for (const double momentum : {0.0, 0.9}) {
    expect_follows("lars",
                   {.momentum = momentum,
                    .weight_decay = 0.1,
                    .trust_coefficient = 0.02,
                    .lr_in_momentum = false},
                   Lars{.momentum = momentum, .decay = 0.1, .inside = false});
  }
}

TEST(Lars, MomentumFollowsTheRateWhereAsked) {
  expect_follows("lars",
                 {.momentum = 0.9,
                  .weight_decay = 0.1,
                  .trust_coefficient = 0.02,
                  .momentum_correction = true},
                 Lars{.momentum = 0.9, .decay = 0.1, .corrected = true});
}

/// With the correction, both forms are equivalent (Goyal et al. 2017, remark 2).
TEST(Lars, CorrectedMomentumIsTheRateOutside) {
  const OptimizerOptions corrected{
      .momentum = 0.9, .trust_coefficient = 0.02, .momentum_correction = true};
  const OptimizerOptions outside{
      .momentum = 0.9, .trust_coefficient = 0.02, .lr_in_momentum = false};
  Followed<double> one(*find_optimizer("lars"), corrected);
  Followed<double> other(*find_optimizer("lars"), outside);
  for (int step = 0; step < followed_steps; ++step) {
    one.step(step);
    other.step(step);
    for (std::size_t i = 0; i < followed_elements; ++i) {
      EXPECT_NEAR(one.weights[i], other.weights[i], 1e-14);
    }
  }
}

TEST(Lars, BiasesAndBatchNormNeitherAdaptNorDecay) {
  expect_follows("lars", {.momentum = 0.9, .weight_decay = 0.1, .trust_coefficient = 0.02},
                 Lars{.momentum = 0.9, .decay = 0.1, .adapts = false}, /*one_dimensional=*/true);
}

TEST(Lars, WithoutANormTheRateIsAsWritten) {
  const auto& lars = *find_optimizer("lars");
  double w = 0;
  double g = 2;
  lars.update(DType::f64, {.momentum = 0}, {.lr = 0.5},
              {.elements = 1, .weights = &w, .gradients = &g, .gradient_norm = 2});
  EXPECT_EQ(w, -1);
  w = 3;
  g = 0;
  lars.update(DType::f64, {.momentum = 0, .weight_decay = 0.5}, {.lr = 0.5},
              {.elements = 1, .weights = &w, .gradients = &g, .weight_norm = 3});
  EXPECT_EQ(w, 3 - 0.5 * 0.5 * 3);
}

TEST(Lars, CorrectionIsForTheRateInside) {
  const auto& lars = *find_optimizer("lars");
  EXPECT_EQ(lars.problem(lars.defaults), "");
  EXPECT_NE(lars.problem({.lr_in_momentum = false, .momentum_correction = true}), "");
  EXPECT_EQ(lars.states(lars.defaults), (Names{"momentum_buffer"}));
  EXPECT_EQ(lars.states({}), Names{});
}

}  // namespace
}  // namespace dllaunch
