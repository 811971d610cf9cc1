// One flat piece of memory for all parameters: a bucket is a slice of it. Values, no allocation.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/dtype.hpp"

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

ArenaLayout lay_out(DType type, std::span<const std::size_t> elements);

/// A run of slots that is reduced in one collective.
struct Bucket {
  int first_slot = 0;
  int last_slot = 0;         // included
  std::size_t offset = 0;    // elements
  std::size_t elements = 0;  // gaps between its slots included
};

/// Consecutive slots until a bucket holds at least `bucket_bytes`; the first bucket closes at
/// `first_bucket_bytes` already, so that communication starts early. Every slot is in one bucket.
std::vector<Bucket> plan_buckets(const ArenaLayout& layout, std::size_t bucket_bytes,
                                 std::size_t first_bucket_bytes);

}  // namespace dllaunch
