// Damaged text for parsers: a seed produces the same damage on every machine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

/// Small, fast and portable, unlike std::uniform_int_distribution.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  /// 0 .. below-1
  int below(int bound);
  bool one_in(int chances) { return below(chances) == 0; }

 private:
  std::uint64_t state_;
};

/// Returns `text` with one to four bytes changed, removed or doubled, or pieces moved.
std::string damaged(std::string_view text, Random& random);

/// Passes `rounds` damaged versions of the samples to `parse`; prints the seed on failure. In
/// damage_rounds.cpp: only this function needs GoogleTest.
void with_damaged(const std::vector<std::string>& samples, int rounds, std::uint64_t seed,
                  const std::function<void(const std::string&)>& parse);

}  // namespace dllaunch
