// What Communicator::allocate() hands out where no memory is faster than any other.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace dllaunch {

/// Zeroed pieces on 64-byte borders; they live as long as this does.
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
