// Memory of the host that the GPU copies from without a detour.
#pragma once

#include <cstddef>
#include <memory>

namespace dllaunch::gpu {

/// What is given back is kept for the next who asks for as much: pinning a batch's memory takes
/// longer than filling it, and every epoch has a loader of its own.
class PinnedPool {
 public:
  PinnedPool();

  /// Not zeroed; may outlive the pool. nullptr: the system refuses to pin so much.
  std::shared_ptr<std::byte> take(std::size_t bytes);

 private:
  struct Kept;
  std::shared_ptr<Kept> kept_;
};

}  // namespace dllaunch::gpu
