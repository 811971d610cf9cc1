#include "runtime/arena.hpp"

#include <cassert>

namespace dllaunch {
namespace {

constexpr std::size_t alignment_bytes = 64;  // a cache line, and the widest vector register

std::size_t round_up(std::size_t elements, std::size_t step) {
  return (elements + step - 1) / step * step;
}

}  // namespace

void* ArenaLayout::at(std::span<std::byte> memory, int slot) const {
  assert(slot >= 0 && static_cast<std::size_t>(slot) < offset.size());
  assert(memory.size() >= bytes());
  return memory.data() + offset[static_cast<std::size_t>(slot)] * bytes_of(type);
}

ArenaLayout lay_out(DType type, std::span<const std::size_t> elements) {
  ArenaLayout layout;
  layout.type = type;
  layout.elements.assign(elements.begin(), elements.end());
  layout.offset.reserve(elements.size());
  const std::size_t step = alignment_bytes / bytes_of(type);
  for (const std::size_t count : elements) {
    layout.offset.push_back(layout.total);
    layout.total += round_up(count, step);
  }
  return layout;
}

std::vector<Bucket> plan_buckets(const ArenaLayout& layout, std::size_t bucket_bytes,
                                 std::size_t first_bucket_bytes) {
  std::vector<Bucket> buckets;
  const int slots = static_cast<int>(layout.offset.size());
  bool open = false;
  for (int slot = 0; slot < slots; ++slot) {
    const auto i = static_cast<std::size_t>(slot);
    if (!open) buckets.push_back({.first_slot = slot, .offset = layout.offset[i]});
    Bucket& bucket = buckets.back();
    bucket.last_slot = slot;
    bucket.elements = layout.offset[i] + layout.elements[i] - bucket.offset;
    const std::size_t enough = buckets.size() == 1 ? first_bucket_bytes : bucket_bytes;
    open = bucket.elements * bytes_of(layout.type) < enough;
  }
  return buckets;
}

}  // namespace dllaunch
