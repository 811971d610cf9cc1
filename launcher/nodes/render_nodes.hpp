// What `dllaunch nodes` shows. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/nodes/judge_nodes.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// A table, worst nodes first, and a line of totals; good nodes beyond `most_good` are only
/// counted.
std::string render_nodes(const std::vector<NodeJudgement>& judged, double now,
                         std::size_t most_good);

/// [{"cluster", "node", "judgement": "good|watch|avoid", "score", "why", "seen", "used_seconds",
/// "failures", "late_share", "speed_share"}]
Json to_json(const std::vector<NodeJudgement>& judged);

}  // namespace dllaunch
