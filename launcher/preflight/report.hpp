// The verdict of a pre-flight: every node, what is wrong with it, and which to leave out. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launcher/preflight/node_answer.hpp"
#include "support/json.hpp"

namespace dllaunch {

struct NodeVerdict {
  std::string node = {};
  bool ok = true;  // no check fails; warnings do not count
  std::vector<PreflightResult> checks = {};
};

struct PreflightReport {
  std::vector<NodeVerdict> nodes = {};  // in the request's order
  /// Nodes that fail where not all do. What all nodes fail alike, leaving one out does not cure.
  std::vector<std::string> exclude = {};
  double seconds = 0;
};

/// Judges all nodes together. `silent`: nodes without an answer, with the reason.
PreflightReport judge_preflight(const PreflightRequest& request,
                                const std::vector<NodeAnswer>& answers,
                                const std::map<std::string, std::string>& silent,
                                std::span<const PreflightCheck* const> checks = preflight_checks());

bool all_ok(const PreflightReport& report);

/// {"nodes": [{"node", "ok", "checks": [{"name", "item", "level": "ok|warn|fail", "value", "why",
/// "fix"}]}], "exclude": [], "seconds"}
Json to_json(const PreflightReport& report);
/// bad_request: not such a document.
Result<PreflightReport> preflight_report_from_json(const Json& document);

/// What is wrong, node by node; then one line of verdict. `all`: also what is well.
std::string render_preflight(const PreflightReport& report, bool color, bool all);

}  // namespace dllaunch
