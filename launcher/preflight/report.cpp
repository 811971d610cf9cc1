#include "launcher/preflight/report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "launcher/base/utf8.hpp"
#include "launcher/slurm/host_list.hpp"

namespace dllaunch {
namespace {

std::string_view word_of(Level level) {
  return level == Level::ok ? "ok" : level == Level::warn ? "warn" : "fail";
}

std::vector<Sight> sights_of(const std::vector<NodeAnswer>& answers, std::string_view check) {
  std::vector<Sight> all;
  for (const auto& answer : answers) {
    const auto found = answer.sights.find(std::string(check));
    if (found == answer.sights.end()) continue;
    all.insert(all.end(), found->second.begin(), found->second.end());
  }
  return all;
}

/// An item that hung, crashed or was refused is a failure of its own.
PreflightResult failed_to_look(const PreflightCheck& check, const Sight& sight) {
  return {.item = sight.item,
          .level = Level::fail,
          .value = "nothing was seen",
          .why = sight.trouble,
          .fix = fmt::format("look at it on that node by hand; without this check: --skip {}",
                             check.name)};
}

std::vector<NodeResult> results_of(const PreflightCheck& check, const PreflightRequest& request,
                                   const std::vector<NodeAnswer>& answers) {
  const bool borrows = !check.reads.empty();
  auto sights = sights_of(answers, borrows ? check.reads : check.name);
  std::vector<NodeResult> results;
  if (!borrows)
    for (const auto& sight : sights)
      if (!sight.trouble.empty()) results.push_back({sight.node, failed_to_look(check, sight)});
  std::erase_if(sights, [](const Sight& sight) { return !sight.trouble.empty(); });
  auto judged = check.judge(request, sights);
  std::move(judged.begin(), judged.end(), std::back_inserter(results));
  for (auto& [node, result] : results) {
    result.name = check.name;
    // Paths and library messages may contain any bytes.
    for (auto* text : {&result.item, &result.value, &result.why, &result.fix})
      *text = printable(*text);
  }
  return results;
}

/// Excluding a node helps only against failures that not every node has.
std::vector<std::string> nodes_to_exclude(const std::vector<NodeVerdict>& nodes) {
  std::map<std::string, std::size_t> failing;
  const auto key_of = [](const PreflightResult& result) {
    return result.name + '\n' + result.item;
  };
  for (const auto& node : nodes) {
    std::set<std::string> once;
    for (const auto& result : node.checks)
      if (result.level == Level::fail) once.insert(key_of(result));
    for (const auto& key : once) ++failing[key];
  }
  std::vector<std::string> exclude;
  for (const auto& node : nodes) {
    const bool own = std::ranges::any_of(node.checks, [&](const auto& result) {
      return result.level == Level::fail &&
             (nodes.size() == 1 || failing.at(key_of(result)) < nodes.size());
    });
    if (own) exclude.push_back(node.node);
  }
  return exclude;
}

Json to_json(const PreflightResult& result) {
  return {{"name", result.name},   {"item", result.item}, {"level", word_of(result.level)},
          {"value", result.value}, {"why", result.why},   {"fix", result.fix}};
}

Error no_report(std::string_view what) {
  return {ErrorKind::bad_request, fmt::format("no pre-flight report: {}", what), ""};
}

std::string colored(Level level, bool color) {
  auto word = fmt::format("{:<4}", to_string(level));
  if (!color) return word;
  const char* code = level == Level::fail ? "1;31" : level == Level::warn ? "1;33" : "1;32";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, word);
}

std::string line_of(const std::string& node, const PreflightResult& result, bool color) {
  const auto item = result.item.empty() ? "" : " (" + result.item + ")";
  auto text = fmt::format("{} {}  {}{}: {}\n", colored(result.level, color), node, result.name,
                          item, result.value);
  if (result.level == Level::ok) return text;
  text += fmt::format("       {}\n", result.why);
  if (!result.fix.empty()) text += fmt::format("  fix  {}\n", result.fix);
  return text;
}

}  // namespace

PreflightReport judge_preflight(const PreflightRequest& request,
                                const std::vector<NodeAnswer>& answers,
                                const std::map<std::string, std::string>& silent,
                                std::span<const PreflightCheck* const> checks) {
  std::map<std::string, NodeVerdict> verdicts;
  for (const auto& [node, why] : silent)
    verdicts[node].checks.push_back(
        {.name = "answer",
         .level = Level::fail,
         .value = "none",
         .why = printable(why),
         .fix = "leave the node out: it is down, cut off, or cannot start programs"});
  for (const auto* check : checks) {
    if (std::ranges::find(request.skip, check->name) != request.skip.end()) continue;
    for (auto& [node, result] : results_of(*check, request, answers))
      verdicts[node].checks.push_back(std::move(result));
  }
  PreflightReport report;
  for (const auto& host : request.hosts) {
    auto verdict = std::move(verdicts[host]);
    verdict.node = host;
    verdict.ok = std::ranges::none_of(
        verdict.checks, [](const auto& result) { return result.level == Level::fail; });
    report.nodes.push_back(std::move(verdict));
  }
  report.exclude = nodes_to_exclude(report.nodes);
  return report;
}

bool all_ok(const PreflightReport& report) {
  return std::ranges::all_of(report.nodes, [](const NodeVerdict& node) { return node.ok; });
}

Json to_json(const PreflightReport& report) {
  Json nodes = Json::array();
  for (const auto& node : report.nodes) {
    Json checks = Json::array();
    for (const auto& result : node.checks) checks.push_back(to_json(result));
    nodes.push_back({{"node", node.node}, {"ok", node.ok}, {"checks", checks}});
  }
  return {{"nodes", nodes}, {"exclude", report.exclude}, {"seconds", report.seconds}};
}

Result<PreflightReport> preflight_report_from_json(const Json& document) {
  if (!document.is_object() || !document.contains("nodes") || !document["nodes"].is_array() ||
      !document.contains("exclude") || !document["exclude"].is_array())
    return no_report("`nodes` or `exclude` is no list");
  PreflightReport report{.seconds = number_of(document, "seconds").value_or(0)};
  for (const auto& name : document["exclude"]) {
    if (!name.is_string()) return no_report("`exclude` holds something that is no name");
    report.exclude.push_back(name);
  }
  for (const auto& entry : document["nodes"]) {
    NodeVerdict node{.node = text_of(entry, "node"), .ok = flag_of(entry, "ok")};
    if (node.node.empty() || !entry.contains("checks") || !entry["checks"].is_array())
      return no_report("a node that lacks something");
    for (const auto& check : entry["checks"]) {
      const auto level = text_of(check, "level");
      if (level != "ok" && level != "warn" && level != "fail")
        return no_report("a check without a level");
      node.checks.push_back({.name = text_of(check, "name"),
                             .item = text_of(check, "item"),
                             .level = level == "ok"     ? Level::ok
                                      : level == "warn" ? Level::warn
                                                        : Level::fail,
                             .value = text_of(check, "value"),
                             .why = text_of(check, "why"),
                             .fix = text_of(check, "fix")});
    }
    report.nodes.push_back(std::move(node));
  }
  return report;
}

std::string render_preflight(const PreflightReport& report, bool color, bool all) {
  std::string text;
  std::size_t failing = 0;
  std::size_t warnings = 0;
  for (const auto& node : report.nodes) {
    if (!node.ok) ++failing;
    for (const auto& result : node.checks) {
      if (result.level == Level::warn) ++warnings;
      if (all || result.level != Level::ok) text += line_of(node.node, result, color);
    }
  }
  if (!text.empty()) text += "\n";
  const auto count = report.nodes.size();
  const auto level = failing > 0 ? Level::fail : warnings > 0 ? Level::warn : Level::ok;
  text += fmt::format("{} {} node{} in {:.1f} s: ", colored(level, color), count,
                      count == 1 ? "" : "s", report.seconds);
  if (failing == 0) {
    const auto warned = fmt::format("{} warning{}", warnings, warnings == 1 ? "" : "s");
    return text + (warnings == 0 ? "ready" : "ready, with " + warned) + "\n";
  }
  text += fmt::format("{} not fit", failing);
  if (!report.exclude.empty())
    text += fmt::format("; leave out: --exclude={}", compress_hosts(report.exclude));
  if (report.exclude.empty()) text += "; all fail alike: the nodes are not the cause";
  return text + "\n";
}

}  // namespace dllaunch
