#include <gtest/gtest.h>

#include "trainer/optimizer.hpp"

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
  for (const Real g : {Real(1), Real(-0.5), Real(0.25)}) {
    sgd.update(type, options, options.lr, {1, &w, &g, std::span(&state, states)});
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
