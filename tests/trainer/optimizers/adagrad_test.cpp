#include "tests/trainer/optimizers/following.hpp"

namespace dllaunch {
namespace {

using Names = std::vector<std::string_view>;

TEST(Adagrad, FollowsTheFormula) {
  const OptimizerOptions options{.weight_decay = 0.1, .eps = 1e-3, .lr_decay = 0.05};
  expect_follows("adagrad", options, each_weight<1>([](double& w, double g, auto& s, auto& now) {
                   const double d = g + 0.1 * w;
                   s[0] += d * d;
                   const double rate = now.lr / (1 + 0.05 * static_cast<double>(now.step - 1));
                   w -= rate * d / (std::sqrt(s[0]) + 1e-3);
                 }));
}

TEST(Adagrad, KeepsTheSumUnderPyTorchsName) {
  EXPECT_EQ(find_optimizer("adagrad")->states({}), (Names{"sum"}));
  EXPECT_EQ(find_optimizer("adagrad")->defaults.eps, 1e-10);
}

}  // namespace
}  // namespace dllaunch
