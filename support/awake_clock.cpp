#include "support/awake_clock.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace dllaunch {
namespace {

using Duration = AwakeClock::duration;

// Times since the steady clock's beginning.
std::atomic<Duration> due_at{Duration::zero()};  // when the latest wait ends; 0: none
std::atomic<Duration> last_seen{Duration::zero()};
std::atomic<Duration> paused_so_far{Duration::zero()};

Duration steady_now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

/// Whoever sees first that a wait is overdue counts the pause; what was seen before it is no part
/// of it, so that now() never goes back.
void count_pause(Duration due, Duration now) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto begin = std::max(due, last_seen.load());
  if (now <= begin) return;
  last_seen = now;
  paused_so_far = paused_so_far.load() + (now - begin);
}

bool is_overdue(Duration due, Duration now) {
  return due != Duration::zero() && now - due > AwakeClock::shortest_pause;
}

}  // namespace

AwakeClock::time_point AwakeClock::now() {
  auto now = steady_now();
  if (const auto due = due_at.load(); is_overdue(due, now)) count_pause(due, now);
  // Another thread may have counted a pause since: the clock does not go back behind it.
  auto seen = last_seen.load();
  while (seen < now && !last_seen.compare_exchange_weak(seen, now)) continue;
  now = std::max(now, seen);
  return time_point(now - paused_so_far.load());
}

AwakeClock::duration AwakeClock::paused() {
  now();
  return paused_so_far;
}

AwakeClock::Wait::Wait(duration limit) : due_(steady_now() + limit) {
  due_at = due_;
}

AwakeClock::Wait::~Wait() {
  if (const auto now = steady_now(); is_overdue(due_, now)) count_pause(due_, now);
  auto expected = due_;
  due_at.compare_exchange_strong(expected, duration::zero());
}

int poll_awake(pollfd* files, nfds_t count, int timeout_ms) {
  using std::chrono::milliseconds;
  if (timeout_ms < 0) return ::poll(files, count, timeout_ms);
  const auto until = AwakeClock::now() + milliseconds(timeout_ms);
  for (milliseconds left(timeout_ms);;) {
    const auto limit = std::clamp(left, milliseconds(0), milliseconds(1000));
    int ready = 0;
    {
      const AwakeClock::Wait wait(limit);
      ready = ::poll(files, count, static_cast<int>(limit.count()));
    }
    left = std::chrono::ceil<milliseconds>(until - AwakeClock::now());
    if (ready != 0 || left <= milliseconds(0)) return ready;
  }
}

}  // namespace dllaunch
