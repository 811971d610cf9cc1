// What PyTorch's flight recorder says of collectives, where a program dumps it: as NCCL does on a
// timeout, and any backend on request. Pure. The ranks' stacks may be alike, as when all wait for
// their GPUs; the record knows who has not entered which collective.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/autopsy/stacks.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Of a dump as torch.distributed.flight_recorder reads it, a pickle, or its JSON: one entry per
/// process group, at most 16, those in which the rank waits first. bad_request: it is neither.
Result<std::vector<RecordedGroup>> read_flight_record(std::string_view dump);

/// Why ranks hold up others, by their records: "has not entered all_reduce #127, which 3 others
/// wait in". Records that a rank wrote less than a second after the others began to wait say
/// nothing of it. A rank that waits itself, in any group, is named only if no other is late.
std::map<int, std::string> late_by_records(const std::vector<NodeStacks>& nodes);

}  // namespace dllaunch
