// Takes ownership of a run directory for a new incarnation, before its ranks start.
#pragma once

#include "launcher/os/system.hpp"
#include "launcher/run/run_dir.hpp"
#include "runtime/rank/run_ownership.hpp"

namespace dllaunch {

/// Fences the previous owner; ranks get the fencing token in DLLAUNCH_GENERATION. The token also
/// exceeds any in events.jsonl, or the new incarnation's events would not count: a run may have
/// been copied without its hidden lease folder.
Result<RunOwnership> take_run_ownership(const RunDir& run, System& system);

}  // namespace dllaunch
