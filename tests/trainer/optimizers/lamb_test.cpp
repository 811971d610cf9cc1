#include "tests/trainer/optimizers/following.hpp"

namespace dllaunch {
namespace {

using Names = std::vector<std::string_view>;

double norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

struct Lamb {
  double decay = 0.1;
  bool adapts = true;
  std::vector<double> m = std::vector<double>(followed_elements);
  std::vector<double> v = std::vector<double>(followed_elements);

  void operator()(std::vector<double>& w, const std::vector<double>& g, const StepInfo& now) {
    const double t = static_cast<double>(now.step);
    std::vector<double> u;
    for (std::size_t i = 0; i < w.size(); ++i) {
      m[i] = 0.8 * m[i] + 0.2 * g[i];
      v[i] = 0.95 * v[i] + 0.05 * g[i] * g[i];
      const double root = std::sqrt(v[i] / (1 - std::pow(0.95, t)));
      u.push_back(m[i] / (1 - std::pow(0.8, t)) / (root + 1e-3) + (adapts ? decay * w[i] : 0));
    }
    const double ratio = adapts ? norm(w) / norm(u) : 1;
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= now.lr * ratio * u[i];
  }
};

const OptimizerOptions with_decay{.weight_decay = 0.1, .betas = {0.8, 0.95}, .eps = 1e-3};

TEST(Lamb, FollowsTheFormula) {
  expect_follows("lamb", with_decay, Lamb{});
}

TEST(Lamb, BiasesAndBatchNormNeitherAdaptNorDecay) {
  expect_follows("lamb", with_decay, Lamb{.adapts = false}, /*one_dimensional=*/true);
}

/// Longer than the chunks in which it is measured.
TEST(Lamb, MeasuresLongParameters) {
  constexpr std::size_t count = 5000;
  std::vector<float> w(count, 2), g(count, 1), m(count), v(count);
  void* states[] = {m.data(), v.data()};
  const auto& lamb = *find_optimizer("lamb");
  const SquareSums sums = lamb.measure(
      DType::f32, {.betas = {0, 0}, .eps = 1e-30}, {.lr = 1},
      {.elements = count, .weights = w.data(), .gradients = g.data(), .states = states});
  EXPECT_DOUBLE_EQ(sums.weights, 4.0 * count);
  EXPECT_DOUBLE_EQ(sums.gradients, 1.0 * count);
  EXPECT_EQ(g, std::vector<float>(count, 1));  // 1 / sqrt(1)
}

TEST(Lamb, WithoutANormTheRateIsAsWritten) {
  const auto& lamb = *find_optimizer("lamb");
  double w = 0;
  double u = 2;
  lamb.update(DType::f64, lamb.defaults, {.lr = 0.5},
              {.elements = 1, .weights = &w, .gradients = &u, .gradient_norm = 2});
  EXPECT_EQ(w, -1);
  EXPECT_EQ(lamb.states(lamb.defaults), (Names{"exp_avg", "exp_avg_sq"}));
}

}  // namespace
}  // namespace dllaunch
