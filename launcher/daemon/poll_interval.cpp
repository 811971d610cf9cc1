#include "launcher/daemon/poll_interval.hpp"

#include <algorithm>

namespace dllaunch {

double poll_interval_s(const PollFacts& facts) {
  constexpr double longest_s = 300;
  constexpr double share = 20;
  if (!facts.any_live) return facts.interval_s;
  double pause = facts.interval_s;
  for (int i = 0; i < facts.errors && pause < longest_s; ++i) pause *= 2;
  pause = std::max(pause, share * facts.answer_s);
  return std::min(pause, std::max(longest_s, facts.interval_s));
}

}  // namespace dllaunch
