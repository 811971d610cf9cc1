// Points that fill a box evenly, whatever their number.
#pragma once

#include <cstdint>
#include <vector>

namespace dllaunch {

/// The point of this number of Sobol's sequence (1967) with the direction numbers of Joe and Kuo
/// (2008), shifted by the seed (Cranley and Patterson 1976). Coordinates are in [0, 1); those
/// beyond the 21st are pseudo-random.
std::vector<double> sobol_point(std::uint32_t number, int dimensions, std::uint64_t seed);

}  // namespace dllaunch
