#include "launcher/doctor/report.hpp"

#include <algorithm>
#include <limits>

#include <fmt/core.h>

#include "launcher/base/utf8.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t longest_fact = 800;  // bytes
constexpr std::size_t longest_command = 40;

std::string shown(const std::string& text, std::size_t longest) {
  auto all = printable(text);
  if (all.size() <= longest) return all;
  std::size_t kept = 0;
  while (true) {
    const auto next =
        kept + std::max<std::size_t>(1, utf8_length(std::string_view(all).substr(kept)));
    if (next > longest) break;
    kept = next;
  }
  return all.substr(0, kept) + "...";
}

std::string memory_words(const MemoryPolicy& memory) {
  return memory.nodes.empty() ? memory.mode
                              : fmt::format("{} {}", memory.mode, to_list(memory.nodes));
}

Level level_of(std::string_view word) {
  if (word == to_string(Level::fail)) return Level::fail;
  return word == to_string(Level::warn) ? Level::warn : Level::ok;
}

Json to_json(const RankRow& row) {
  return {{"rank", row.rank},      {"local_rank", row.local_rank},
          {"host", row.host},      {"pid", row.pid},
          {"job", row.job},        {"command", row.command},
          {"cpus", row.cpus},      {"numa", row.numa},
          {"gpus", row.gpus},      {"memory", row.memory},
          {"threads", row.threads}};
}

Json to_json(const Finding& finding) {
  return {{"id", finding.id},
          {"level", to_string(finding.level)},
          {"ranks", finding.ranks.ids()},
          {"job", finding.job},
          {"seen", finding.seen},
          {"cost", finding.cost},
          {"fix", finding.fix}};
}

bool all_are(const Json& object, std::initializer_list<const char*> keys,
             bool (Json::*is)() const noexcept) {
  return object.is_object() && std::all_of(keys.begin(), keys.end(), [&](const char* key) {
           const auto found = object.find(key);
           return found != object.end() && ((*found).*is)();
         });
}

/// As a double: a JSON number may be larger than any integer type.
bool is_between(const Json& number, int least, int most) {
  if (!number.is_number_integer()) return false;
  const auto value = number.get<double>();
  return value >= least && value <= most;
}

bool is_int(const Json& number) {
  return is_between(number, std::numeric_limits<int>::min(), std::numeric_limits<int>::max());
}

bool are_ids(const Json& list) {
  return list.is_array() && std::all_of(list.begin(), list.end(), [](const Json& item) {
           return is_between(item, 0, IdSet::max_id);
         });
}

bool is_row(const Json& object) {
  if (!object.is_object()) return false;
  for (const char* key : {"rank", "local_rank", "pid", "threads"})
    if (!object.contains(key) || !is_int(object[key])) return false;
  if (!all_are(object, {"host", "job", "command", "cpus", "numa", "memory"}, &Json::is_string))
    return false;
  return object.contains("gpus") && are_ids(object["gpus"]);
}

RankRow row_from(const Json& object) {
  return {.rank = object["rank"],
          .local_rank = object["local_rank"],
          .pid = object["pid"],
          .host = object["host"],
          .job = object["job"],
          .command = object["command"],
          .cpus = object["cpus"],
          .numa = object["numa"],
          .gpus = object["gpus"],
          .memory = object["memory"],
          .threads = object["threads"]};
}

Error no_report(std::string_view what) {
  return {ErrorKind::bad_request, fmt::format("invalid doctor report: {}", what),
          "all nodes need the same dllaunch"};
}

}  // namespace

Report report_of(const Topology& topology, const NodeObservation& node) {
  Report report;
  report.hosts = {node.host};
  report.findings = diagnose(topology, node);
  for (auto& finding : report.findings) finding.seen = shown(finding.seen, longest_fact);
  const auto gpus = gpus_of_ranks(topology, node);
  for (std::size_t i = 0; i < node.ranks.size(); ++i) {
    const auto& rank = node.ranks[i];
    RankRow row{.rank = rank.rank,
                .local_rank = rank.local_rank,
                .pid = rank.pid,
                .host = node.host,
                .job = node.job,
                .command = shown(rank.command, longest_command),
                .cpus = to_list(rank.cpus),
                .numa = to_list(topology.numa_of(rank.cpus)),
                .gpus = {},
                .memory = memory_words(rank.memory),
                .threads = rank.threads};
    for (const int gpu : gpus[i])
      row.gpus.push_back(topology.gpus[static_cast<std::size_t>(gpu)].index);
    report.ranks.push_back(std::move(row));
  }
  return report;
}

void merge(Report& report, Report other) {
  for (auto& host : other.hosts)
    if (std::find(report.hosts.begin(), report.hosts.end(), host) == report.hosts.end())
      report.hosts.push_back(std::move(host));
  std::move(other.ranks.begin(), other.ranks.end(), std::back_inserter(report.ranks));
  for (auto& gpu : other.gpus) {
    const bool known = std::any_of(report.gpus.begin(), report.gpus.end(), [&](const GpuRow& row) {
      return row.host == gpu.host && row.pci == gpu.pci;
    });
    if (!known) report.gpus.push_back(std::move(gpu));
  }
  std::move(other.unanswered.begin(), other.unanswered.end(),
            std::back_inserter(report.unanswered));
  for (auto& finding : other.findings) {
    const auto same =
        std::find_if(report.findings.begin(), report.findings.end(), [&](const Finding& known) {
          return known.id == finding.id && known.level == finding.level &&
                 known.job == finding.job && known.fix == finding.fix;
        });
    if (same == report.findings.end()) {
      report.findings.push_back(std::move(finding));
      continue;
    }
    same->ranks |= finding.ranks;
    constexpr std::string_view alike = "; and alike on other nodes";
    if (same->seen != finding.seen && !same->seen.ends_with(alike)) same->seen += alike;
  }
  std::stable_sort(report.findings.begin(), report.findings.end(),
                   [](const Finding& a, const Finding& b) {
                     return a.level != b.level ? a.level > b.level : a.id < b.id;
                   });
  if (!report.bench.is_array())
    report.bench = std::move(other.bench);
  else if (other.bench.is_array())
    for (auto& one : other.bench) report.bench.push_back(std::move(one));
}

Level worst(const Report& report) {
  Level level = Level::ok;
  for (const auto& finding : report.findings) level = std::max(level, finding.level);
  return level;
}

Json to_json(const Report& report) {
  Json ranks = Json::array();
  for (const auto& row : report.ranks) ranks.push_back(to_json(row));
  Json findings = Json::array();
  for (const auto& finding : report.findings) findings.push_back(to_json(finding));
  Json gpus = Json::array();
  for (const auto& row : report.gpus) gpus.push_back(to_json(row));
  Json document = {{"host", report.hosts.empty() ? "" : report.hosts.front()},
                   {"hosts", report.hosts},
                   {"ranks", std::move(ranks)},
                   {"findings", std::move(findings)},
                   {"gpus", std::move(gpus)},
                   {"bench", report.bench}};
  if (report.unanswered.empty()) return document;
  auto& unanswered = document["unanswered"] = Json::array();
  for (const auto& [host, why] : report.unanswered)
    unanswered.push_back({{"host", host}, {"why", why}});
  return document;
}

Result<Report> report_from_json(const Json& document) {
  if (!document.is_object()) return no_report("not an object");
  Report report;
  for (const char* key : {"hosts", "ranks", "findings"})
    if (!document.contains(key) || !document[key].is_array())
      return no_report(fmt::format("`{}` is not a list", key));
  for (const auto& host : document["hosts"]) {
    if (!host.is_string()) return no_report("`host` is not a string");
    report.hosts.push_back(host);
  }
  for (const auto& row : document["ranks"]) {
    if (!is_row(row)) return no_report("incomplete rank");
    report.ranks.push_back(row_from(row));
  }
  for (const auto& item : document["findings"]) {
    if (!all_are(item, {"id", "level", "job", "seen", "cost", "fix"}, &Json::is_string) ||
        !item.contains("ranks") || !item["ranks"].is_array())
      return no_report("incomplete finding");
    if (!are_ids(item["ranks"])) return no_report("invalid rank number");
    IdSet ranks;
    for (const Json& rank : item["ranks"]) ranks.insert(rank.get<int>());
    report.findings.push_back({.id = item["id"],
                               .level = level_of(item["level"].text()),
                               .ranks = std::move(ranks),
                               .job = item["job"],
                               .seen = item["seen"],
                               .cost = item["cost"],
                               .fix = item["fix"]});
  }
  const auto gpus = document.value("gpus", Json::array());
  if (!gpus.is_array()) return no_report("`gpus` is not a list");
  for (const auto& item : gpus) {
    auto row = gpu_row_from_json(item);
    if (!row) return no_report("incomplete GPU");
    report.gpus.push_back(*std::move(row));
  }
  report.bench = document.value("bench", Json(nullptr));
  return report;
}

}  // namespace dllaunch
