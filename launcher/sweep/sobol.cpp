#include "launcher/sweep/sobol.hpp"

#include <array>
#include <cmath>
#include <cstddef>

namespace dllaunch {
namespace {

constexpr int bits = 32;

/// A primitive polynomial over GF(2): its degree, its inner coefficients, and the first direction
/// numbers.
struct Direction {
  int degree = 0;
  std::uint32_t inner = 0;
  std::array<std::uint32_t, 7> first = {};
};

/// Of dimensions 2 and on: Joe and Kuo (2008), new-joe-kuo-6.
constexpr std::array<Direction, 20> directions = {{
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
}};

/// One direction number for each bit of a point's number, scaled to 32 bits.
std::array<std::uint32_t, bits> numbers_of(std::size_t dimension) {
  std::array<std::uint32_t, bits> v{};
  if (dimension == 0) {
    for (int i = 0; i < bits; ++i) v[static_cast<std::size_t>(i)] = 1U << (bits - 1 - i);
    return v;
  }
  const Direction& of = directions[dimension - 1];
  const auto degree = static_cast<std::size_t>(of.degree);
  for (std::size_t i = 0; i < bits; ++i) {
    if (i < degree) {
      v[i] = of.first[i] << (bits - 1 - i);
      continue;
    }
    v[i] = v[i - degree] ^ (v[i - degree] >> degree);
    for (std::size_t k = 1; k < degree; ++k)
      if ((of.inner >> (degree - 1 - k) & 1) != 0) v[i] ^= v[i - k];
  }
  return v;
}

/// SplitMix64 (Steele et al. 2014): the state's next number.
std::uint64_t mixed(std::uint64_t state) {
  state += 0x9e3779b97f4a7c15U;
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9U;
  state = (state ^ (state >> 27)) * 0x94d049bb133111ebU;
  return state ^ (state >> 31);
}

double unit(std::uint64_t random) {
  return static_cast<double>(random >> 11) * 0x1p-53;
}

}  // namespace

std::vector<double> sobol_point(std::uint32_t number, int dimensions, std::uint64_t seed) {
  std::vector<double> point;
  for (std::size_t d = 0; d < static_cast<std::size_t>(dimensions); ++d) {
    const double shift = unit(mixed(mixed(seed) + d));
    if (d > directions.size()) {
      point.push_back(unit(mixed(mixed(mixed(seed) + d) + number)));
      continue;
    }
    const auto v = numbers_of(d);
    std::uint32_t bits_of_x = 0;
    for (std::size_t i = 0; i < bits; ++i)
      if ((number >> i & 1) != 0) bits_of_x ^= v[i];
    const double x = bits_of_x * 0x1p-32 + shift;
    point.push_back(x - std::floor(x));
  }
  return point;
}

}  // namespace dllaunch
