#include "launcher/supervise/hold/hold.hpp"

#include <algorithm>

#include "launcher/supervise/incarnations.hpp"
#include "support/awake_clock.hpp"

namespace dllaunch {
namespace {

using Clock = AwakeClock;
using std::chrono::milliseconds;

constexpr milliseconds look(250);
constexpr int looks_without_bell = 40;

}  // namespace

HoldEnd hold_for_retry(const RunDir& run, const RunStorage& storage, const RunOwnership& ownership,
                       Clock::time_point until,
                       const std::function<std::optional<int>(milliseconds)>& wait) {
  const auto token = ownership.fencing_token();
  HoldEnd end;
  int looks = 0;
  for (auto now = Clock::now(); now < until && !end.signal; now = Clock::now()) {
    if ((end.away = !storage.check())) return end;
    // Who gave the order may have been killed before the bell, or have found no room for its byte.
    const bool asked = has_rung(run, token) || ++looks % looks_without_bell == 0;
    if (asked && (end.order = end_of_hold(run, token))) return end;
    if (!(end.lost = ownership_lost(ownership)).empty()) return end;
    end.signal = wait(
        std::clamp(std::chrono::duration_cast<milliseconds>(until - now), milliseconds(1), look));
  }
  if ((end.away = !storage.check())) return end;
  const auto closed = end_hold(run, token, {.over = true});
  const bool taken = !closed && closed.error().kind == ErrorKind::unsatisfiable;
  if (taken && !end.signal) end.order = end_of_hold(run, token);
  return end;
}

}  // namespace dllaunch
