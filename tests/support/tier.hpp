// The tier that runs a test: scripts/test sets DLLAUNCH_TEST_QUICK for --quick, DLLAUNCH_TEST_FULL
// for
// --full.
#pragma once

#include <cstdlib>

namespace dllaunch {

inline bool quick_tier() {
  return std::getenv("DLLAUNCH_TEST_QUICK") != nullptr;
}

inline bool full_tier() {
  return std::getenv("DLLAUNCH_TEST_FULL") != nullptr;
}

/// Returns how many of a property test's `rounds` to run: a tenth in the quick tier.
inline int rounds_here(int rounds) {
  return quick_tier() ? (rounds + 9) / 10 : rounds;
}

}  // namespace dllaunch
