// A drill: one bit of one rank is flipped on purpose, to see that a run notices and goes on.
#pragma once

#include <cstdint>
#include <string_view>

#include "support/result.hpp"
#include "trainer/integrity/digest.hpp"

namespace dllaunch {

/// Names the drill.
inline constexpr const char* drill_variable = "DLLAUNCH_FLIP_BIT";

/// Which bit is flipped: of weights and optimiser state after the step, of the sums of gradients
/// before the step applies them.
struct Drill {
  int rank = 0;
  std::int64_t step = 1;  // 1-based
  ReplicaPart part = ReplicaPart::weights;
  std::uint64_t bit = 0;  // modulo the size of the part
};

/// Parses "RANK:STEP:PART:BIT", such as "1:40:weights:12345". bad_request says what is expected, or
/// that there is no such rank.
Result<Drill> parse_drill(std::string_view text, int ranks);

}  // namespace dllaunch
