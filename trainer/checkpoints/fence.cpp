#include "trainer/checkpoints/fence.hpp"

namespace dllaunch {

Result<Ok> Fence::check() {
  if (!ownership_) return Ok{};
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return *closed_;
    asked_ = Clock::now();
  }
  // Without the lock, so that closed() never waits for a file system.
  auto ours = ownership_->check();
  if (ours || ours.error().kind != ErrorKind::unsatisfiable) return ours;
  const std::lock_guard lock(mutex_);
  if (!closed_) closed_ = ours.error();
  return *closed_;
}

bool Fence::may_write() {
  if (!ownership_) return true;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    if (asked_ && Clock::now() - *asked_ < std::chrono::seconds(1)) return true;
  }
  const auto ours = check();
  return ours || ours.error().kind != ErrorKind::unsatisfiable;
}

std::optional<Error> Fence::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace dllaunch
