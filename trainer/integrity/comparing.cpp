#include "trainer/integrity/comparing.hpp"

#include <algorithm>

namespace dllaunch {

Comparing common(std::span<const Comparing> ranks) {
  Comparing all = ranks.front();
  for (const auto& one : ranks) {
    if (one.on_device != all.on_device) return {};
    all.every = std::min(all.every, one.every);
    all.prints = all.prints && one.prints;
  }
  all.prints = all.prints && all.every > 0;
  return all;
}

}  // namespace dllaunch
