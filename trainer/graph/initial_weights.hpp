// Initial weights: a pure function of (seed, name), the same on every backend.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// Returns a parameter's values, plain and dense, distributed as its `initial` says. Value i
/// depends only on seed, name and i.
std::vector<double> initial_weights(std::uint64_t seed, const Parameter& parameter);
/// Returns values first .. first + count - 1 of them.
std::vector<double> initial_weights(std::uint64_t seed, const Parameter& parameter,
                                    std::int64_t first, std::int64_t count);

}  // namespace dllaunch
