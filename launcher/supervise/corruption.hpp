// Wrong numbers that the trainer's ranks found among themselves, as the supervisor learns of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/run/attempt.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/supervise/start_nodes.hpp"

namespace dllaunch {

/// Returns what the start `fencing_token` has told in these lines of events.jsonl, oldest first:
/// one for each rank it named, or one without a rank. `nodes`: of the job, to name the rank's.
std::vector<JournalCorruption> corruptions_in(std::string_view events, std::int64_t fencing_token,
                                              const std::vector<std::string>& nodes);

/// Reads them from the run's directory. Fills in the attempt's job and allocation, and gives it
/// Cause::corrupted if it failed and made no step after the last of them.
std::vector<JournalCorruption> look_for_corruptions(const RunDir& run, const JobAllocation& where,
                                                    std::int64_t fencing_token, Attempt& attempt);

/// Returns the nodes of the ranks whose numbers were wrong, once for each start.
BadNodes bad_nodes(const std::vector<JournalCorruption>& found);

}  // namespace dllaunch
