#include "launcher/supervise/hold/hold.hpp"

#include <algorithm>

#include "launcher/supervise/incarnations.hpp"
#include "support/awake_clock.hpp"

namespace dllaunch {
namespace {

using Clock = AwakeClock;
using std::chrono::milliseconds;

constexpr milliseconds look(250);

}  // namespace

HoldEnd hold_for_retry(const RunDir& run, const RunOwnership& ownership, Clock::time_point until,
                       const std::function<std::optional<int>(milliseconds)>& wait) {
  const auto token = ownership.fencing_token();
  HoldEnd end;
  for (auto now = Clock::now(); now < until && !end.signal; now = Clock::now()) {
    if (has_rung(run, token) && (end.order = end_of_hold(run, token))) return end;
    if (!(end.lost = ownership_lost(ownership)).empty()) return end;
    end.signal = wait(
        std::clamp(std::chrono::duration_cast<milliseconds>(until - now), milliseconds(1), look));
  }
  // A directory that is away has no retry either.
  const auto closed = end_hold(run, token, {.over = true});
  const bool taken = !closed && closed.error().kind == ErrorKind::unsatisfiable;
  if (taken && !end.signal) end.order = end_of_hold(run, token);
  return end;
}

}  // namespace dllaunch
