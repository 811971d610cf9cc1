// What one node saw: all checks, each in time, as a document that travels.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launcher/preflight/check.hpp"

namespace dllaunch {

struct NodeAnswer {
  std::string node = {};
  std::map<std::string, std::vector<Sight>> sights = {};  // by check
};

/// Looks at this node, stage by stage; within a stage each item in a child process of its own. What
/// hangs or crashes costs its answer and is told as trouble. Takes as long as the checks' limits
/// say at worst, and touches no file system itself.
NodeAnswer observe_node(const NodeView& view,
                        std::span<const PreflightCheck* const> checks = preflight_checks());

Json to_json(const NodeAnswer& answer);
/// bad_request: not such a document.
Result<NodeAnswer> node_answer_from_json(const Json& document);

}  // namespace dllaunch
