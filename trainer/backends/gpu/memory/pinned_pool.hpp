// Pinned host memory, from which the GPU copies directly.
#pragma once

#include <cstddef>
#include <memory>

namespace dllaunch::gpu {

/// Reuses freed memory for requests of the same size: pinning a batch's memory takes longer than
/// filling it, and every epoch has its own loader.
class PinnedPool {
 public:
  PinnedPool();

  /// Returns uninitialised memory, which may outlive the pool; nullptr if the system cannot pin it.
  std::shared_ptr<std::byte> allocate(std::size_t bytes);

 private:
  struct Kept;
  std::shared_ptr<Kept> kept_;
};

}  // namespace dllaunch::gpu
