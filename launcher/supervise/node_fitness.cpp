#include "launcher/supervise/node_fitness.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace dllaunch {
namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

const NodeVerdict* verdict_on(const PreflightReport& report, const std::string& node) {
  const auto found = std::ranges::find(report.nodes, node, &NodeVerdict::node);
  return found == report.nodes.end() ? nullptr : &*found;
}

bool is_silent(const NodeVerdict& verdict) {
  return std::ranges::any_of(verdict.checks, [](const PreflightResult& result) {
    return result.name == "answer" && result.level == Level::fail;
  });
}

/// Returns the first problem of a node.
std::string trouble_of(const NodeVerdict& verdict) {
  for (const auto& result : verdict.checks) {
    if (result.level != Level::fail) continue;
    return fmt::format("{}: {}{}: {}", verdict.node, result.name,
                       result.item.empty() ? "" : " (" + result.item + ")", result.why);
  }
  return verdict.node;
}

}  // namespace

Result<NodeFitness> judge_fitness(const PreflightRequest& request, const LookAtNodes& look) {
  auto report = look(request);
  if (!report) return std::move(report).error();
  NodeFitness fitness{.seconds = report->seconds};
  const auto silent = [&](const std::string& node) {
    const auto* verdict = verdict_on(*report, node);
    return verdict != nullptr && is_silent(*verdict);
  };
  auto unfit = report->exclude;
  if (!std::ranges::all_of(unfit, silent)) {
    const auto again = look(request);
    if (!again) return again.error();
    fitness.seconds += again->seconds;
    std::erase_if(unfit, [&](const std::string& node) {
      return !silent(node) && !has(again->exclude, node);
    });
  }
  for (const auto& host : request.hosts) {
    const bool good = !has(unfit, host);
    (good ? fitness.fit : fitness.unfit).push_back(host);
    const auto* verdict = verdict_on(*report, host);
    if (!good && silent(host)) fitness.silent.push_back(host);
    if (good || verdict == nullptr) continue;
    fitness.why += (fitness.why.empty() ? "" : "; ") + trouble_of(*verdict);
  }
  fitness.verdicts = std::move(report->nodes);
  return fitness;
}

void leave_out(const std::vector<std::string>& nodes, std::string_view why, NodeFitness& fitness) {
  for (const auto& node : nodes) {
    std::erase(fitness.fit, node);
    if (has(fitness.unfit, node)) continue;
    fitness.unfit.push_back(node);
    fitness.why += fmt::format("{}{}: {}", fitness.why.empty() ? "" : "; ", node, why);
  }
}

Result<std::optional<NodeFitness>> look_for_fit_nodes(System& system, const std::string& run_dir,
                                                      const std::vector<std::string>& gone) {
  auto request = observe_preflight_request(system, run_dir);
  if (!request) return request.error();
  std::erase_if(request->hosts, [&](const auto& host) { return has(gone, host); });
  if (request->hosts.size() < 2) return std::optional<NodeFitness>();
  // A clock that is off confuses log readers, not ranks. Two nodes that disagree do not show which
  // one is wrong.
  request->skip.emplace_back("clock");
  auto fitness = judge_fitness(
      *request, [&system](const PreflightRequest& one) { return preflight(system, one); });
  if (!fitness) return std::move(fitness).error();
  return std::optional(*std::move(fitness));
}

}  // namespace dllaunch
