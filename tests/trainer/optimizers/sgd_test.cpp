#include "tests/trainer/optimizers/following.hpp"

namespace dllaunch {
namespace {

const OptimizerEntry& sgd = *find_optimizer("sgd");

/// Three steps with gradients 1, -0.5, 0.25 from w = 2, worked out by hand from torch.optim.SGD.
template <typename Real>
std::vector<Real> three_steps(DType type, const OptimizerOptions& options) {
  std::vector<Real> trace;
  Real w = 2;
  Real v = 0;
  void* state = &v;
  const std::size_t states = sgd.states(options).size();
  for (Real g : {Real(1), Real(-0.5), Real(0.25)}) {
    sgd.update(type, options, {.lr = options.lr},
               {.elements = 1, .weights = &w, .gradients = &g, .states = {&state, states}});
    trace.push_back(w);
  }
  return trace;
}

TEST(Sgd, FollowsTheGradient) {
  const auto w = three_steps<double>(DType::f64, {.lr = 0.1});
  EXPECT_DOUBLE_EQ(w[0], 1.9);
  EXPECT_DOUBLE_EQ(w[1], 1.95);
  EXPECT_DOUBLE_EQ(w[2], 1.925);
}

TEST(Sgd, KeepsMomentum) {
  const auto w = three_steps<double>(DType::f64, {.lr = 0.1, .momentum = 0.9});
  EXPECT_DOUBLE_EQ(w[0], 1.9);    // v = 1
  EXPECT_DOUBLE_EQ(w[1], 1.86);   // v = 0.9 - 0.5 = 0.4
  EXPECT_DOUBLE_EQ(w[2], 1.799);  // v = 0.36 + 0.25 = 0.61
}

TEST(Sgd, DecaysWeightsThroughTheMomentum) {
  const auto w = three_steps<double>(DType::f64, {.lr = 0.1, .momentum = 0.5, .weight_decay = 0.2});
  EXPECT_DOUBLE_EQ(w[0], 1.86);      // d = 1 + 0.4, v = 1.4
  EXPECT_DOUBLE_EQ(w[1], 1.8028);    // d = -0.5 + 0.372, v = 0.7 - 0.128 = 0.572
  EXPECT_DOUBLE_EQ(w[2], 1.713144);  // d = 0.25 + 0.36056, v = 0.286 + 0.61056 = 0.89656
}

TEST(Sgd, LooksAheadAlongTheMomentum) {
  expect_follows("sgd", {.momentum = 0.9, .weight_decay = 0.1, .nesterov = true},
                 each_weight<1>([](double& w, double g, auto& v, auto& now) {
                   const double d = g + 0.1 * w;
                   v[0] = 0.9 * v[0] + d;
                   w -= now.lr * (d + 0.9 * v[0]);
                 }));
  EXPECT_NE(sgd.problem({.nesterov = true}), "");
  EXPECT_EQ(sgd.problem({.momentum = 0.9, .nesterov = true}), "");
}

/// Keras's momentum has the rate inside. When the rate changes, Horovod multiplies it by lr /
/// previous lr, which gives the same result as this form without correction (Goyal et al. 2017,
/// remark 2).
TEST(Sgd, NeedsNoMomentumCorrection) {
  expect_follows(
      "sgd", {.momentum = 0.9}, each_weight<1>([](double& w, double g, auto& v, auto& now) {
        const double corrected = now.previous_lr > 0 ? 0.9 * (now.lr / now.previous_lr) : 0.9;
        v[0] = corrected * v[0] - now.lr * g;
        w += v[0];
      }));
}

TEST(Sgd, AgreesInSinglePrecision) {
  const OptimizerOptions options{.lr = 0.1, .momentum = 0.5, .weight_decay = 0.2};
  const auto exact = three_steps<double>(DType::f64, options);
  const auto single = three_steps<float>(DType::f32, options);
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(single[i], exact[i], 1e-6);
}

TEST(Sgd, HasAStateOnlyWithMomentum) {
  EXPECT_TRUE(sgd.states({.momentum = 0}).empty());
  EXPECT_EQ(sgd.states({.momentum = 0.9}), std::vector<std::string_view>{"momentum_buffer"});
}

}  // namespace
}  // namespace dllaunch
