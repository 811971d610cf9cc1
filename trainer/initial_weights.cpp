#include "trainer/initial_weights.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "trainer/random.hpp"

namespace dllaunch {
namespace {

/// Two uniform numbers make a normal one (Box and Muller 1958); the first is never 0.
double normal(std::uint64_t key, std::uint64_t i) {
  const double u = 1 - random_unit(random_bits(key, 2 * i));
  const double v = random_unit(random_bits(key, 2 * i + 1));
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

}  // namespace

std::vector<double> initial_weights(std::uint64_t seed, const Parameter& parameter) {
  std::vector<double> values(static_cast<std::size_t>(elements_of(parameter.shape)));
  const std::uint64_t key = random_key(seed, "initial " + parameter.name);
  const auto uniform = [&](double limit) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = (2 * random_unit(random_bits(key, i)) - 1) * limit;
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
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = normal(key, i) * std::sqrt(2 / fan_out);
      }
      break;
  }
  return values;
}

}  // namespace dllaunch
