// Patience with a file system that is full, or away, for a moment.
#pragma once

#include <chrono>
#include <string_view>

#include "support/awake_clock.hpp"

namespace dllaunch {

/// Whether words of a program or of ours tell of a file system that is full.
bool tells_of_no_room(std::string_view words);

/// The same, or that it does not give a file that is there.
bool tells_of_storage(std::string_view words);

/// Calls `attempt` until it succeeds, for a minute, and returns its last result. `wait` sleeps that
/// long; what it returns, if anything, ends that.
template <typename Attempt, typename Wait>
auto patiently(Attempt attempt, Wait wait) -> decltype(attempt()) {
  const auto give_up_at = AwakeClock::now() + std::chrono::seconds(60);
  while (true) {
    auto done = attempt();
    if (done || AwakeClock::now() >= give_up_at || wait(std::chrono::milliseconds(2000)))
      return done;
  }
}

/// The same of what returns a Result, if its error tells of storage; `say` is told once.
template <typename Attempt, typename Say, typename Wait>
auto despite_storage(Attempt attempt, Say say, Wait wait) -> decltype(attempt()) {
  auto done = attempt();
  if (done || !tells_of_storage(done.error().what)) return done;
  say(done.error().what + ": waiting");
  return patiently(attempt, wait);
}

}  // namespace dllaunch
