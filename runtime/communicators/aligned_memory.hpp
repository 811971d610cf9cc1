// Memory for Communicator::allocate() in communicators that have no faster kind.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace dllaunch {

/// Owns zeroed pieces, 64-byte aligned.
class AlignedMemory {
 public:
  std::span<std::byte> allocate(std::size_t bytes);

 private:
  struct Free {
    void operator()(std::byte* piece) const;
  };
  std::vector<std::unique_ptr<std::byte, Free>> pieces_;
};

}  // namespace dllaunch
