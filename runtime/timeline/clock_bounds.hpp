// Measures the offset of this node's clock from rank 0's, with collectives only.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/communicators/communicator.hpp"
#include "runtime/timeline/format/timeline_format.hpp"

namespace dllaunch {

/// One round between rank 0 and another rank. Rank 0 reads its clock and broadcasts (`sent`); the
/// other receives (`received`), then enters a barrier (`answered`), which rank 0 leaves (`closed`).
/// Causes precede effects, so sent <= received + offset and answered + offset <= closed.
struct ClockRound {
  std::int64_t sent_ns = 0;
  std::int64_t received_ns = 0;
  std::int64_t answered_ns = 0;
  std::int64_t closed_ns = 0;
};

/// Returns the offsets that all rounds allow. Always valid; a quiet round makes them narrow. Empty
/// bounds (low > high) mean that a clock was set meanwhile. Pure.
ClockBounds bounds_of(std::span<const ClockRound> rounds);

/// Identifies the clock of this process: equal for processes that share CLOCK_MONOTONIC.
std::int64_t clock_identity();

/// Collective. Ranks with the same `identity` share a clock and get the same bounds; those on rank
/// 0's clock get exactly 0.
ClockBounds measure_clock(Communicator& communicator, std::int64_t identity);

}  // namespace dllaunch
