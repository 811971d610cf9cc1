// The layout of all parameters in one flat array; buckets are slices of it. Values, no
// allocation.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/numerics/dtype.hpp"

namespace dllaunch {

/// Slot i is elements [offset[i], offset[i] + elements[i]). Slots are in the order in which their
/// gradients become final. Each starts on a 64-byte boundary; gaps are zero.
struct ArenaLayout {
  DType type = DType::f32;
  std::vector<std::size_t> offset;
  std::vector<std::size_t> elements;
  std::size_t total = 0;  // elements, including gaps

  std::size_t bytes() const { return total * bytes_of(type); }
  void* at(std::span<std::byte> memory, int slot) const;
};

/// Returns a layout whose `total` is a multiple of `unit` elements.
ArenaLayout lay_out(DType type, std::span<const std::size_t> elements, std::size_t unit = 1);

/// Elements reduced in one collective, and the slots whose gradients they need.
struct Bucket {
  int first_slot = 0;
  int last_slot = 0;         // inclusive
  std::size_t offset = 0;    // elements
  std::size_t elements = 0;  // including gaps between its slots

  friend bool operator==(const Bucket&, const Bucket&) = default;
};

/// Divides the slots into buckets of consecutive slots with at least `bucket_bytes` each. The first
/// bucket closes at `first_bucket_bytes`, so that communication starts early. Every slot is in one
/// bucket. With a `unit`, which must be the layout's, buckets begin at multiples of it, split slots
/// if necessary, and include the layout's padding, so that each divides into equal parts.
std::vector<Bucket> plan_buckets(const ArenaLayout& layout, std::size_t bucket_bytes,
                                 std::size_t first_bucket_bytes, std::size_t unit = 1);

/// Returns the buckets without what no slot in `wanted` needs: ends are cut off at multiples of
/// `unit`, and buckets without a wanted slot are dropped. Unwanted slots remain between wanted ones
/// and up to the last multiple.
std::vector<Bucket> buckets_for(const ArenaLayout& layout, const std::vector<Bucket>& buckets,
                                const std::vector<bool>& wanted, std::size_t unit = 1);

/// Returns the unit with which `parts` parts of a bucket are equal and each begins on a cache line,
/// for any type.
std::size_t unit_for(int parts);

/// Elements [offset, offset + elements) of an arena.
struct ArenaRange {
  std::size_t offset = 0;
  std::size_t elements = 0;
};

/// Part `part` of a bucket divided into `parts` equal ones.
ArenaRange part_of(const Bucket& bucket, int part, int parts);

}  // namespace dllaunch
