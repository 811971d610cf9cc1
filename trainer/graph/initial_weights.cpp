#include "trainer/graph/initial_weights.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "support/random.hpp"

namespace dllaunch {
namespace {

/// Fills with normal numbers by the Box-Muller transform (1958); u is never 0. In float, the
/// precision of weights, because start-up waits for it: resnet50 has 25 million weights.
/// values[0] is number `first`.
void fill_normal(std::uint64_t key, double deviation, std::uint64_t first,
                 std::vector<double>& values) {
  constexpr auto turn = 2 * std::numbers::pi_v<float>;
  const std::uint64_t end = first + values.size();
  for (std::uint64_t i = first - first % 2; i < end; i += 2) {
    const auto u = static_cast<float>(1 - random_unit(random_bits(key, i)));
    const auto v = static_cast<float>(random_unit(random_bits(key, i + 1)));
    const double radius = static_cast<double>(std::sqrt(-2 * std::log(u))) * deviation;
    if (i >= first) values[i - first] = radius * static_cast<double>(std::cos(turn * v));
    if (i + 1 < end) values[i + 1 - first] = radius * static_cast<double>(std::sin(turn * v));
  }
}

}  // namespace

std::vector<double> initial_weights(std::uint64_t seed, const Parameter& parameter) {
  return initial_weights(seed, parameter, 0, elements_of(parameter.shape));
}

std::vector<double> initial_weights(std::uint64_t seed, const Parameter& parameter,
                                    std::int64_t first, std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  const auto from = static_cast<std::uint64_t>(first);
  const std::uint64_t key = random_key(seed, "initial " + parameter.name);
  const auto uniform = [&](double limit) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = (2 * random_unit(random_bits(key, from + i)) - 1) * limit;
    }
  };
  const auto fan_in = static_cast<double>(parameter.fan_in);
  const auto fan_out = static_cast<double>(parameter.fan_out);
  switch (parameter.initial) {
    case Initial::zeros:
      break;
    case Initial::ones:
      std::ranges::fill(values, 1.0);
      break;
    case Initial::glorot_uniform:
      uniform(std::sqrt(6.0 / (fan_in + fan_out)));
      break;
    case Initial::torch_uniform:
      uniform(1 / std::sqrt(fan_in));
      break;
    case Initial::he_normal:
      fill_normal(key, std::sqrt(2 / fan_out), from, values);
      break;
    case Initial::normal:
      fill_normal(key, parameter.deviation, from, values);
      break;
  }
  return values;
}

}  // namespace dllaunch
