// How a run went: its summary, and what its ranks did with their time.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "launcher/run/stored_run.hpp"

namespace dllaunch {

/// The last `ranks` event in events.jsonl that counts (history.hpp), as the trainer wrote it; null
/// without one.
nlohmann::ordered_json last_ranks_event(const std::string& events_path);

/// For people. `ranks`: last_ranks_event, null where there is none. Whatever is missing in either
/// is left out.
std::string render_run_report(const StoredRun& run, const nlohmann::ordered_json& ranks);

}  // namespace dllaunch
