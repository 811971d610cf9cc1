// The result of a pre-flight: every node, its problems, and the nodes to exclude. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launcher/preflight/figures.hpp"
#include "launcher/preflight/node_answer.hpp"
#include "support/json.hpp"

namespace dllaunch {

struct NodeVerdict {
  std::string node = {};
  bool ok = true;  // no check failed; warnings do not count
  std::vector<PreflightResult> checks = {};
  std::vector<NodeFigure> measured = {};
};

struct PreflightReport {
  std::vector<NodeVerdict> nodes = {};  // in the request's order
  /// Nodes that fail a check that others pass. Excluding a node does not help if all fail.
  std::vector<std::string> exclude = {};
  double seconds = 0;
};

/// Judges all nodes together. `silent`: nodes without an answer, and why.
PreflightReport judge_preflight(const PreflightRequest& request,
                                const std::vector<NodeAnswer>& answers,
                                const std::map<std::string, std::string>& silent,
                                std::span<const PreflightCheck* const> checks = preflight_checks());

bool all_ok(const PreflightReport& report);

/// {"nodes": [{"node", "ok", "checks": [{"name", "item", "level": "ok|warn|fail", "value", "why",
/// "fix"}], "measured": [{"what", "like", "value"}]}], "exclude": [], "seconds"}
Json to_json(const PreflightReport& report);
/// bad_request: not a valid document.
Result<PreflightReport> preflight_report_from_json(const Json& document);

/// Renders the problems per node, then one line of verdict. `all`: also successful checks.
std::string render_preflight(const PreflightReport& report, bool color, bool all);

}  // namespace dllaunch
