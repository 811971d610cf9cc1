// The weights training starts from: a function of (seed, name), the same on every backend.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// Plain, dense values of a parameter, as its `initial` says. Value i depends on seed, name and i
/// alone.
std::vector<double> initial_weights(std::uint64_t seed, const Parameter& parameter);

}  // namespace dllaunch
