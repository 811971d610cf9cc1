// One node's observations: all checks, as a document.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launcher/preflight/check.hpp"

namespace dllaunch {

struct NodeAnswer {
  std::string node = {};
  std::map<std::string, std::vector<NodeSample>> samples = {};  // by check
};

/// Observes this node stage by stage, each item in a child process. An item that hangs or crashes
/// is reported as trouble. Bounded by the checks' limits; touches no file system itself.
NodeAnswer observe_node(const NodeView& view,
                        std::span<const PreflightCheck* const> checks = preflight_checks());

Json to_json(const NodeAnswer& answer);
/// bad_request: not a valid document.
Result<NodeAnswer> node_answer_from_json(const Json& document);

}  // namespace dllaunch
