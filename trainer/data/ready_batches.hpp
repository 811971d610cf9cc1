// How many batches a loader keeps in the memory of the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "support/result.hpp"

namespace dllaunch {

struct BatchMemory {
  int workers = 0;
  int batch_size = 1;
  std::size_t image_bytes = 0;                                   // with its label and targets
  std::int64_t left = std::numeric_limits<std::int64_t>::max();  // bytes that they may take
};

/// Returns two per worker, three at least (one being read, the next one, and one in preparation),
/// and one without workers; fewer, but one, if they would take more than half of `left`, since the
/// training needs memory too. unavailable: not even one fits. Pure.
Result<std::size_t> ready_batches(const BatchMemory& memory);

}  // namespace dllaunch
