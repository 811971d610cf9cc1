#include "tests/trainer/optimizers/following.hpp"

namespace dllaunch {
namespace {

using Names = std::vector<std::string_view>;

const OptimizerOptions usual = find_optimizer("rmsprop-warmup")->defaults;

/// Returns a_sgd plus the RMSProp part, from one update of one weight with gradient 1.
double step_at(double epoch, double rmsprop_lr) {
  OptimizerOptions options = usual;
  options.rmsprop_lr = rmsprop_lr;
  options.alpha = 0;
  options.eps = 1e-300;
  double w = 0;
  double g = 1;
  double s = 0;
  double v = 0;
  void* states[] = {&s, &v};
  find_optimizer("rmsprop-warmup")
      ->update(DType::f64, options, {.lr = 1, .epoch = epoch},
               {.elements = 1, .weights = &w, .gradients = &g, .states = states});
  return -w;
}

double share(double epoch) {
  return step_at(epoch, 1e-300);
}

TEST(RmsPropWarmup, FollowsTheFormula) {
  OptimizerOptions options = usual;
  options.weight_decay = 0.1;
  options.eps = 1e-3;
  expect_follows("rmsprop-warmup", options,
                 each_weight<2>([](double& w, double g, auto& s, auto& now) {
                   const double d = g + 0.1 * w;
                   s[0] = 0.99 * s[0] + 0.01 * d * d;
                   const double e = now.epoch;
                   const double sgd = e < 10     ? 0.5 * std::exp(2 * (e - 10) / 5)
                                      : e < 12.5 ? 0.5 + (e - 10) / 5
                                                 : 1.0;
                   const double rms = (1 - sgd) * 3e-4 / now.lr;
                   s[1] = 0.9 * s[1] - (sgd + rms / (std::sqrt(s[0]) + 1e-3)) * d;
                   w += now.lr * s[1];
                 }));
}

TEST(RmsPropWarmup, TurnsFromOneIntoTheOtherWithoutAJump) {
  EXPECT_NEAR(share(0), 0.5 * std::exp(-4.0), 1e-15);
  EXPECT_DOUBLE_EQ(share(10), 0.5);
  EXPECT_DOUBLE_EQ(share(12.5), 1);
  EXPECT_DOUBLE_EQ(share(90), 1);
  constexpr double little = 1e-7;  // epochs
  for (const double edge : {10.0, 12.5}) {
    EXPECT_NEAR(share(edge - little), share(edge + little), 1e-7) << edge;
  }
  const double before = (share(10) - share(10 - little)) / little;
  const double after = (share(10 + little) - share(10)) / little;
  EXPECT_NEAR(before, after, 1e-6);
}

TEST(RmsPropWarmup, TheShareOfSgdOnlyGrowsAndStaysAShare) {
  double last = 0;
  for (double epoch = 0; epoch < 20; epoch += 0.01) {
    const double now = share(epoch);
    EXPECT_GE(now, last) << epoch;
    EXPECT_LE(now, 1) << epoch;
    last = now;
    // The rest is RMSProp's, with its own rate.
    EXPECT_NEAR(step_at(epoch, 0.5), now + (1 - now) * 0.5, 1e-12) << epoch;
  }
}

TEST(RmsPropWarmup, EndsAsSgdWithMomentum) {
  Followed<double> sgd(*find_optimizer("sgd"), {.momentum = 0.9});
  Followed<double> late(*find_optimizer("rmsprop-warmup"), usual);
  for (int step = 0; step < followed_steps; ++step) {
    const StepInfo now{.lr = 0.01, .step = step + 1, .epoch = 40};
    sgd.step(step, now);
    late.step(step, now);
    for (std::size_t i = 0; i < followed_elements; ++i) {
      EXPECT_NEAR(late.weights[i], sgd.weights[i], 1e-15);
    }
  }
}

TEST(RmsPropWarmup, ARateOfZeroChangesNothing) {
  Followed<double> still(*find_optimizer("rmsprop-warmup"), usual);
  const auto before = still.weights;
  still.step(0, {.lr = 0, .epoch = 1});
  EXPECT_EQ(still.weights, before);
  EXPECT_EQ(find_optimizer("rmsprop-warmup")->states(usual),
            (Names{"square_avg", "momentum_buffer"}));
}

}  // namespace
}  // namespace dllaunch
