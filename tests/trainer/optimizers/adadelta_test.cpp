#include "tests/trainer/optimizers/following.hpp"

namespace dllaunch {
namespace {

using Names = std::vector<std::string_view>;

TEST(Adadelta, FollowsTheFormula) {
  const OptimizerOptions options{.weight_decay = 0.1, .eps = 1e-3, .rho = 0.8};
  expect_follows("adadelta", options, each_weight<2>([](double& w, double g, auto& s, auto& now) {
                   const double d = g + 0.1 * w;
                   s[0] = 0.8 * s[0] + 0.2 * d * d;
                   const double u = std::sqrt(s[1] + 1e-3) / std::sqrt(s[0] + 1e-3) * d;
                   s[1] = 0.8 * s[1] + 0.2 * u * u;
                   w -= now.lr * u;
                 }));
}

TEST(Adadelta, NamesItsStatesAsPyTorchDoes) {
  const auto& adadelta = *find_optimizer("adadelta");
  EXPECT_EQ(adadelta.states({}), (Names{"square_avg", "acc_delta"}));
  EXPECT_EQ(adadelta.defaults.lr, 1);
}

}  // namespace
}  // namespace dllaunch
