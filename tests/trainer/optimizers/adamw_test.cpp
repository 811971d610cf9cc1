#include "tests/trainer/optimizers/following.hpp"

namespace dllaunch {
namespace {

using Names = std::vector<std::string_view>;

TEST(AdamW, DecaysWeightsApartFromTheGradient) {
  const OptimizerOptions options{.weight_decay = 0.1, .betas = {0.8, 0.95}, .eps = 1e-3};
  expect_follows("adamw", options, each_weight<2>([](double& w, double g, auto& s, auto& now) {
                   w -= now.lr * 0.1 * w;
                   s[0] = 0.8 * s[0] + 0.2 * g;
                   s[1] = 0.95 * s[1] + 0.05 * g * g;
                   const double t = static_cast<double>(now.step);
                   const double m = s[0] / (1 - std::pow(0.8, t));
                   const double v = s[1] / (1 - std::pow(0.95, t));
                   w -= now.lr * m / (std::sqrt(v) + 1e-3);
                 }));
}

TEST(AdamW, IsAdamWithoutDecay) {
  OptimizerOptions options = find_optimizer("adamw")->defaults;
  EXPECT_EQ(options.weight_decay, 0.01);
  options.weight_decay = 0;
  Followed<float> adam(*find_optimizer("adam"), options);
  Followed<float> adamw(*find_optimizer("adamw"), options);
  for (int step = 0; step < followed_steps; ++step) {
    adam.step(step);
    adamw.step(step);
    EXPECT_EQ(adam.weights, adamw.weights);
  }
}

}  // namespace
}  // namespace dllaunch
