#include "runtime/communicators/aligned_memory.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <cstring>

#include "support/fatal.hpp"

namespace dllaunch {

void AlignedMemory::Free::operator()(std::byte* piece) const {
  std::free(piece);
}

std::span<std::byte> AlignedMemory::allocate(std::size_t bytes) {
  if (bytes == 0) return {};
  void* piece = nullptr;
  const int error = ::posix_memalign(&piece, 64, bytes);
  if (error != 0) die("memory", fmt::format("{} bytes: {}", bytes, std::strerror(error)));
  std::memset(piece, 0, bytes);  // first touch by its owner: the pages are on its NUMA node
  pieces_.emplace_back(static_cast<std::byte*>(piece));
  return {pieces_.back().get(), bytes};
}

}  // namespace dllaunch
