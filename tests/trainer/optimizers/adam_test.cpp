#include "tests/trainer/optimizers/following.hpp"

namespace dllaunch {
namespace {

using Names = std::vector<std::string_view>;

TEST(Adam, FollowsTheFormula) {
  const OptimizerOptions options{.weight_decay = 0.1, .betas = {0.8, 0.95}, .eps = 1e-3};
  expect_follows("adam", options, each_weight<2>([](double& w, double g, auto& s, auto& now) {
                   const double d = g + 0.1 * w;
                   s[0] = 0.8 * s[0] + 0.2 * d;
                   s[1] = 0.95 * s[1] + 0.05 * d * d;
                   const double t = static_cast<double>(now.step);
                   const double m = s[0] / (1 - std::pow(0.8, t));
                   const double v = s[1] / (1 - std::pow(0.95, t));
                   w -= now.lr * m / (std::sqrt(v) + 1e-3);
                 }));
}

TEST(Adam, FirstStepIsOfTheRateWhateverTheGradient) {
  Followed<double> adam(*find_optimizer("adam"), find_optimizer("adam")->defaults);
  const auto before = adam.weights;
  adam.step(0, {.lr = 0.25, .step = 1});
  for (std::size_t i = 0; i < followed_elements; ++i) {
    const double g = gradient_at(0, i);
    if (std::abs(g) < 1e-3) continue;
    EXPECT_NEAR(adam.weights[i], before[i] - std::copysign(0.25, g), 1e-5) << i;
  }
}

TEST(Adam, KeepsItsMomentsUnderPyTorchsNames) {
  const auto& adam = *find_optimizer("adam");
  EXPECT_EQ(adam.states(adam.defaults), (Names{"exp_avg", "exp_avg_sq"}));
}

}  // namespace
}  // namespace dllaunch
