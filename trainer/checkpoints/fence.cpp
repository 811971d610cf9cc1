#include "trainer/checkpoints/fence.hpp"

namespace dllaunch {

Result<Ok> Fence::check() {
  if (!ask_) return Ok{};
  if (auto known = closed()) return *std::move(known);
  const auto asked = Clock::now();
  // Without the lock, so that closed() never waits for a file system.
  auto ours = ask_();
  const std::lock_guard lock(mutex_);
  if (!ours && ours.error().kind == ErrorKind::unsatisfiable && !closed_) closed_ = ours.error();
  if (closed_) return *closed_;
  // Only now: while a check is under way, another thread must not take its answer for granted.
  if (!answered_ || *answered_ < asked) answered_ = asked;
  return ours;
}

bool Fence::may_write() {
  if (!ask_) return true;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    if (answered_ && Clock::now() - *answered_ < std::chrono::seconds(1)) return true;
  }
  const auto ours = check();
  return ours || ours.error().kind != ErrorKind::unsatisfiable;
}

std::optional<Error> Fence::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace dllaunch
