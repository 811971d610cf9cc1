// How a run went: its summary, and what its ranks did with their time.
#pragma once

#include <string>

#include "launcher/run/stored_run.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// The last `ranks` event in events.jsonl that counts (history.hpp), as the trainer wrote it; null
/// without one.
Json last_ranks_event(const std::string& events_path);

/// For people. `ranks`: last_ranks_event, null where there is none. Whatever is missing in either
/// is left out.
std::string render_run_report(const StoredRun& run, const Json& ranks);

}  // namespace dllaunch
