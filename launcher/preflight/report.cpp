#include "launcher/preflight/report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "launcher/base/utf8.hpp"
#include "launcher/slurm/host_list.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view level_names[] = {"ok", "warn", "fail"};

std::vector<NodeSample> samples_of(const std::vector<NodeAnswer>& answers, std::string_view check) {
  std::vector<NodeSample> all;
  for (const auto& answer : answers) {
    const auto found = answer.samples.find(std::string(check));
    if (found == answer.samples.end()) continue;
    all.insert(all.end(), found->second.begin(), found->second.end());
  }
  return all;
}

/// An item that hung, crashed or was refused is a failure of its own.
PreflightResult failed_to_look(const PreflightCheck& check, const NodeSample& sample) {
  return {.item = sample.item,
          .level = Level::fail,
          .value = "no result",
          .why = sample.trouble,
          .fix = fmt::format("check it on that node by hand, or skip this check: --skip {}",
                             check.name)};
}

std::vector<NodeResult> results_of(const PreflightCheck& check, const PreflightRequest& request,
                                   const std::vector<NodeAnswer>& answers) {
  const bool borrows = !check.reads.empty();
  auto samples = samples_of(answers, borrows ? check.reads : check.name);
  std::vector<NodeResult> results;
  if (!borrows)
    for (const auto& sample : samples)
      if (!sample.trouble.empty()) results.push_back({sample.node, failed_to_look(check, sample)});
  std::erase_if(samples, [](const NodeSample& sample) { return !sample.trouble.empty(); });
  auto judged = check.judge(request, samples);
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
  for (const auto& answer : answers) verdicts[answer.node].measured = figures_of(answer);
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

template <typename Field>
void visit_fields(Field& field, PreflightResult& result) {
  field("name", result.name);
  field("item", result.item);
  field.required("level", as_word(result.level, level_names));
  field("value", result.value);
  field("why", result.why);
  field("fix", result.fix);
}

template <typename Field>
void visit_fields(Field& field, NodeFigure& figure) {
  field.required("what", figure.what);
  field("like", figure.like);
  field.required("value", figure.value);
}

template <typename Field>
void visit_fields(Field& field, NodeVerdict& node) {
  if constexpr (Field::reads) node.ok = false;
  field.required("node", node.node);
  field("ok", node.ok);
  field.required("checks", node.checks);
  field.unless_empty("measured", node.measured);
  if constexpr (Field::reads)
    if (node.node.empty()) field.refuse("node", "is empty");
}

template <typename Field>
void visit_fields(Field& field, PreflightReport& report) {
  field.required("nodes", report.nodes);
  field.required("exclude", report.exclude);
  field("seconds", report.seconds);
}

Json to_json(const PreflightReport& report) {
  return write_fields(report);
}

Result<PreflightReport> preflight_report_from_json(const Json& document) {
  PreflightReport report;
  if (const auto problem = read_fields(document, report); !problem.empty())
    return Error{ErrorKind::bad_request, "no pre-flight report: " + problem, ""};
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
  if (report.exclude.empty() && failing == count)
    text += "; all fail alike: the nodes are not the cause";
  return text + "\n";
}

}  // namespace dllaunch
