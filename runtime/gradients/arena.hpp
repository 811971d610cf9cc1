// One flat piece of memory for all parameters: a bucket is a slice of it. Values, no allocation.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/numerics/dtype.hpp"

namespace dllaunch {

/// Where slot i lies: elements [offset[i], offset[i] + elements[i]). Slots are in the order in
/// which their gradients become final, each starts on 64 bytes, gaps are zero.
struct ArenaLayout {
  DType type = DType::f32;
  std::vector<std::size_t> offset;
  std::vector<std::size_t> elements;
  std::size_t total = 0;  // elements, gaps included

  std::size_t bytes() const { return total * bytes_of(type); }
  void* at(std::span<std::byte> memory, int slot) const;
};

/// `total` is a multiple of `unit` elements.
ArenaLayout lay_out(DType type, std::span<const std::size_t> elements, std::size_t unit = 1);

/// Elements that are reduced in one collective, and the slots of which they need the gradients.
struct Bucket {
  int first_slot = 0;
  int last_slot = 0;         // included
  std::size_t offset = 0;    // elements
  std::size_t elements = 0;  // gaps between its slots included

  friend bool operator==(const Bucket&, const Bucket&) = default;
};

/// Consecutive slots until a bucket holds at least `bucket_bytes`; the first bucket closes at
/// `first_bucket_bytes` already, so that communication starts early. Every slot is in one bucket.
/// With a `unit`, which must be the layout's, buckets begin at multiples of it, cut slots where
/// they must, and cover the layout's padding too: each can be dealt out in equal parts.
std::vector<Bucket> plan_buckets(const ArenaLayout& layout, std::size_t bucket_bytes,
                                 std::size_t first_bucket_bytes, std::size_t unit = 1);

/// The same buckets without what no slot in `wanted` needs: ends are cut off, at multiples of
/// `unit`, and buckets without a wanted slot are gone. What remains of a slot that is not wanted
/// lies between others or on their last multiple.
std::vector<Bucket> buckets_for(const ArenaLayout& layout, const std::vector<Bucket>& buckets,
                                const std::vector<bool>& wanted, std::size_t unit = 1);

/// The unit for which `parts` parts of a bucket are equal, and each begins on a cache line whatever
/// the type.
std::size_t unit_for(int parts);

/// Elements [offset, offset + elements) of an arena.
struct ArenaRange {
  std::size_t offset = 0;
  std::size_t elements = 0;
};

/// Part `part` of `parts` equal ones of a bucket.
ArenaRange part_of(const Bucket& bucket, int part, int parts);

}  // namespace dllaunch
