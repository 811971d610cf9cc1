// How far this node's clock is from rank 0's, by collectives alone.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/communicators/communicator.hpp"
#include "runtime/timeline/format/timeline_format.hpp"

namespace dllaunch {

/// One round between rank 0 and another: rank 0 looks at its clock and broadcasts (`sent`), the
/// other has it (`received`), then enters a barrier (`answered`), which rank 0 leaves (`closed`).
/// Causes come before effects, so sent <= received + offset and answered + offset <= closed.
struct ClockRound {
  std::int64_t sent_ns = 0;
  std::int64_t received_ns = 0;
  std::int64_t answered_ns = 0;
  std::int64_t closed_ns = 0;
};

/// Pure: what all rounds together leave. No luck is needed for it to hold; a quiet round makes it
/// narrow. Empty bounds (low > high) mean that a clock was set meanwhile.
ClockBounds bounds_of(std::span<const ClockRound> rounds);

/// Which clock this process reads: equal on processes that share CLOCK_MONOTONIC.
std::int64_t clock_identity();

/// Collective. Ranks with the same `identity` share a clock and get the same bounds; those of rank
/// 0's clock get exactly 0.
ClockBounds measure_clock(Communicator& communicator, std::int64_t identity);

}  // namespace dllaunch
