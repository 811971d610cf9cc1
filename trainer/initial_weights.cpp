#include "trainer/initial_weights.hpp"

#include <cmath>

#include "trainer/random.hpp"

namespace dllaunch {

std::vector<double> initial_weights(std::uint64_t seed, const Parameter& parameter) {
  std::vector<double> values(static_cast<std::size_t>(elements_of(parameter.shape)));
  if (parameter.bias) return values;
  const auto fans = static_cast<double>(parameter.fan_in + parameter.fan_out);
  const double limit = std::sqrt(6.0 / fans);
  const std::uint64_t key = random_key(seed, "initial " + parameter.name);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = (2 * random_unit(random_bits(key, i)) - 1) * limit;
  }
  return values;
}

}  // namespace dllaunch
