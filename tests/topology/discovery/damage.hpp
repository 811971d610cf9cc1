// Damaged text for parsers: the same seed damages alike on every machine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

/// Small, fast and the same everywhere, which std::uniform_int_distribution is not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  /// 0 .. below-1
  int below(int bound);
  bool one_in(int chances) { return below(chances) == 0; }

 private:
  std::uint64_t state_;
};

/// `text` with one to four bytes changed, dropped, doubled or pieces moved.
std::string damaged(std::string_view text, Random& random);

/// Feeds `rounds` damaged versions of the samples to `parse` and prints the seed on failure.
/// In damage_rounds.cpp: it needs GoogleTest, the rest does not.
void with_damaged(const std::vector<std::string>& samples, int rounds, std::uint64_t seed,
                  const std::function<void(const std::string&)>& parse);

}  // namespace dllaunch
