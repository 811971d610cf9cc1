// Taking a run's directory for one incarnation of the run, by whoever starts its ranks.
#pragma once

#include "launcher/os/system.hpp"
#include "launcher/run/run_dir.hpp"
#include "runtime/rank/run_ownership.hpp"

namespace dllaunch {

/// Whoever had the directory is fenced from here on; the ranks are told the fencing token in
/// DLLAUNCH_GENERATION. It is higher than any in events.jsonl too, or what the new incarnation
/// writes would not count: a run may have been copied without its leases, whose folder begins with
/// a dot.
Result<RunOwnership> take_run_ownership(const RunDir& run, System& system);

}  // namespace dllaunch
