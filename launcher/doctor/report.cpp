#include "launcher/doctor/report.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "launcher/base/utf8.hpp"
#include "support/json_fields.hpp"

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

constexpr std::string_view level_names[] = {"OK", "WARN", "FAIL"};

}  // namespace

template <typename Field>
void visit_fields(Field& field, RankRow& row) {
  field.required("rank", row.rank);
  field.required("local_rank", row.local_rank);
  field.required("host", row.host);
  field.required("pid", row.pid);
  field.required("job", row.job);
  field.required("command", row.command);
  field.required("cpus", row.cpus);
  field.required("numa", row.numa);
  field.required("gpus", row.gpus);
  field.required("memory", row.memory);
  field.required("threads", row.threads);
  if constexpr (Field::reads)
    for (const int gpu : row.gpus)
      if (gpu < 0 || gpu > IdSet::max_id) field.refuse("gpus", "holds no number of a GPU");
}

template <typename Field>
void visit_fields(Field& field, Finding& finding) {
  field.required("id", finding.id);
  field.required("level", as_word(finding.level, level_names));
  field.required("ranks", AsArray{finding.ranks});
  field.required("job", finding.job);
  field.required("seen", finding.seen);
  field.required("cost", finding.cost);
  field.required("fix", finding.fix);
}

static std::string read_json(const Json& json, GpuRow& row) {
  auto read = gpu_row_from_json(json);
  if (!read) return "lacks something";
  row = *std::move(read);
  return "";
}

template <typename Field>
void visit_fields(Field& field, Report& report) {
  field.only_written("host", report.hosts.empty() ? "" : report.hosts.front());
  field.required("hosts", report.hosts);
  field.required("ranks", report.ranks);
  field.required("findings", report.findings);
  field("gpus", report.gpus);
  field("bench", report.bench);
}

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
  auto document = write_fields(report);
  for (const auto& [host, why] : report.unanswered)
    document["unanswered"].push_back({{"host", host}, {"why", why}});
  return document;
}

Result<Report> report_from_json(const Json& document) {
  Report report;
  if (const auto problem = read_fields(document, report); !problem.empty())
    return Error{ErrorKind::bad_request, "invalid doctor report: " + problem,
                 "use the same dllaunch on all nodes"};
  return report;
}

}  // namespace dllaunch
