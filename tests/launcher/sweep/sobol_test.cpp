#include "launcher/sweep/sobol.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

namespace dllaunch {
namespace {

/// Of 2^k points, each of 2^k equal intervals of every coordinate has exactly one, whatever the
/// shift, but for those it moves over a border.
TEST(Sobol, EachIntervalHasAPoint) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    std::array<std::set<int>, 21> seen;
    for (std::uint32_t i = 0; i < 64; ++i) {
      const auto point = sobol_point(i, 21, seed);
      const auto origin = sobol_point(0, 21, seed);
      ASSERT_EQ(point.size(), 21U);
      for (std::size_t d = 0; d < point.size(); ++d) {
        ASSERT_GE(point[d], 0);
        ASSERT_LT(point[d], 1);
        double x = point[d] - origin[d];
        x -= std::floor(x + 1e-12);
        seen[d].insert(static_cast<int>(x * 64 + 1e-6));
      }
    }
    for (const auto& intervals : seen) EXPECT_EQ(intervals.size(), 64U);
  }
}

/// Every pair of coordinates fills the square, too: 16 points, one in each of 4 x 4 squares for the
/// first two; no two points alike in any.
TEST(Sobol, PairsFillTheSquare) {
  const auto origin = sobol_point(0, 21, 9);
  std::set<std::pair<int, int>> squares;
  for (std::uint32_t i = 0; i < 16; ++i) {
    const auto point = sobol_point(i, 2, 9);
    const auto cell = [&](std::size_t d) {
      const double x = point[d] - origin[d];
      return static_cast<int>((x - std::floor(x + 1e-12)) * 4 + 1e-6);
    };
    squares.emplace(cell(0), cell(1));
  }
  EXPECT_EQ(squares.size(), 16U);
}

/// The unshifted sequence, as SciPy 1.16 gives it: points 3 and 777 less point 0.
TEST(Sobol, IsThatOfJoeAndKuo) {
  const auto unshifted = [](std::uint32_t number) {
    auto point = sobol_point(number, 21, 5);
    const auto origin = sobol_point(0, 21, 5);
    for (std::size_t d = 0; d < point.size(); ++d) {
      point[d] -= origin[d];
      point[d] -= std::floor(point[d] + 1e-12);
    }
    return point;
  };
  // SciPy counts along the Gray code of the number.
  const auto gray = [](std::uint32_t number) { return number ^ (number >> 1); };
  const auto third = unshifted(gray(3));
  const std::vector<double> wanted = {0.25, 0.75, 0.75, 0.75, 0.25, 0.25, 0.75,
                                      0.25, 0.25, 0.25, 0.25, 0.25, 0.75, 0.75,
                                      0.25, 0.75, 0.25, 0.75, 0.25, 0.75, 0.75};
  for (std::size_t d = 0; d < wanted.size(); ++d) EXPECT_NEAR(third[d], wanted[d], 1e-9) << d;
  const auto later = unshifted(gray(777));
  const std::vector<double> last = {0.8642578125, 0.3701171875, 0.7529296875, 0.2373046875};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(later[17 + i], last[i], 1e-9) << i;
}

TEST(Sobol, SeedsDifferAndNumbersBeyondTheTableAreStillThere) {
  EXPECT_NE(sobol_point(4, 2, 1), sobol_point(4, 2, 2));
  EXPECT_EQ(sobol_point(4, 40, 1), sobol_point(4, 40, 1));
  const auto point = sobol_point(4, 40, 1);
  EXPECT_EQ(std::set<double>(point.begin(), point.end()).size(), 40U);
}

}  // namespace
}  // namespace dllaunch
