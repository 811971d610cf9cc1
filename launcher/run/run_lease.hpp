// Taking a run's directory for one life of the run, by whoever starts its ranks.
#pragma once

#include "launcher/os/world.hpp"
#include "launcher/run/run_dir.hpp"
#include "runtime/rank/lease.hpp"

namespace dllaunch {

/// Whoever had the directory is fenced from here on; the ranks are told the generation in
/// DLLAUNCH_GENERATION. It is higher than any in events.jsonl too, or what the new life writes
/// would not count: a run may have been copied without its leases, whose folder begins with a dot.
Result<Lease> take_run_lease(const RunDir& run, World& world);

}  // namespace dllaunch
