#include "runtime/gradients/arena.hpp"

#include <algorithm>
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

ArenaLayout lay_out(DType type, std::span<const std::size_t> elements, std::size_t unit) {
  ArenaLayout layout;
  layout.type = type;
  layout.elements.assign(elements.begin(), elements.end());
  layout.offset.reserve(elements.size());
  const std::size_t step = alignment_bytes / bytes_of(type);
  for (const std::size_t count : elements) {
    layout.offset.push_back(layout.total);
    layout.total += round_up(count, step);
  }
  layout.total = round_up(layout.total, unit);
  return layout;
}

std::vector<Bucket> plan_buckets(const ArenaLayout& layout, std::size_t bucket_bytes,
                                 std::size_t first_bucket_bytes, std::size_t unit) {
  assert(layout.total % unit == 0);
  std::vector<Bucket> buckets;
  const int slots = static_cast<int>(layout.offset.size());
  Bucket open;
  for (int slot = 0; slot < slots; ++slot) {
    const auto i = static_cast<std::size_t>(slot);
    const bool last = slot + 1 == slots;
    const std::size_t slot_end = layout.offset[i] + layout.elements[i];
    open.last_slot = slot;
    // Rounded down so that the bucket waits for no further slot; the rest goes to the next bucket.
    const std::size_t end = last && unit > 1 ? layout.total : slot_end / unit * unit;
    open.elements = end > open.offset ? end - open.offset : 0;
    const std::size_t enough = buckets.empty() ? first_bucket_bytes : bucket_bytes;
    const bool cut = unit > 1 && open.elements == 0;
    if (!last && (cut || open.elements * bytes_of(layout.type) < enough)) continue;
    buckets.push_back(open);
    open = {.first_slot = unit > 1 && end < slot_end ? slot : slot + 1,
            .offset = unit > 1 || last ? end : layout.offset[i + 1]};
  }
  return buckets;
}

std::vector<Bucket> buckets_for(const ArenaLayout& layout, const std::vector<Bucket>& buckets,
                                const std::vector<bool>& wanted, std::size_t unit) {
  const auto begin_of = [&](int slot) { return layout.offset[static_cast<std::size_t>(slot)]; };
  const auto end_of = [&](int slot) {
    return begin_of(slot) + layout.elements[static_cast<std::size_t>(slot)];
  };
  const auto is_wanted = [&](int slot) { return wanted[static_cast<std::size_t>(slot)]; };
  std::vector<Bucket> cut;
  for (const Bucket& whole : buckets) {
    const std::size_t whole_end = whole.offset + whole.elements;
    int first = whole.first_slot;
    while (first <= whole.last_slot && !is_wanted(first)) ++first;
    if (first > whole.last_slot) continue;
    int last = whole.last_slot;
    while (!is_wanted(last)) --last;
    const std::size_t begin = std::max(whole.offset, begin_of(first) / unit * unit);
    const std::size_t end = std::min(whole_end, round_up(end_of(last), unit));
    // Rounding down may leave nothing of its last slot.
    if (begin >= end) continue;
    while (first > whole.first_slot && end_of(first - 1) > begin) --first;
    while (last < whole.last_slot && begin_of(last + 1) < end) ++last;
    cut.push_back(
        {.first_slot = first, .last_slot = last, .offset = begin, .elements = end - begin});
  }
  return cut;
}

std::size_t unit_for(int parts) {
  return alignment_bytes * static_cast<std::size_t>(parts);
}

ArenaRange part_of(const Bucket& bucket, int part, int parts) {
  assert(bucket.elements % static_cast<std::size_t>(parts) == 0);
  const std::size_t each = bucket.elements / static_cast<std::size_t>(parts);
  return {bucket.offset + static_cast<std::size_t>(part) * each, each};
}

}  // namespace dllaunch
