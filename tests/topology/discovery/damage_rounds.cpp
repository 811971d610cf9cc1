#include <gtest/gtest.h>

#include "tests/support/tier.hpp"
#include "tests/topology/discovery/damage.hpp"

namespace dllaunch {

void with_damaged(const std::vector<std::string>& samples, int rounds, std::uint64_t seed,
                  const std::function<void(const std::string&)>& parse) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < rounds_here(rounds) && !testing::Test::HasFailure(); ++i) {
    const auto& sample =
        samples[static_cast<std::size_t>(random.below(static_cast<int>(samples.size())))];
    const auto text = damaged(sample, random);
    SCOPED_TRACE("round " + std::to_string(i) + ": " + text.substr(0, 200));
    parse(text);
  }
}

}  // namespace dllaunch
