// Renders the report: similar ranks on one line, findings with reason and remedy.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/core.h>

#include "launcher/base/table.hpp"
#include "launcher/doctor/bench.hpp"
#include "launcher/doctor/report.hpp"
#include "launcher/slurm/host_list.hpp"

namespace dllaunch {
namespace {

std::string or_dash(std::string text) {
  return text.empty() ? "-" : std::move(text);
}

std::string list_of(const std::vector<int>& numbers) {
  IdSet set;
  for (const int number : numbers) set.insert(number);
  return to_list(set);
}

/// The columns in which alike ranks are equal: all but those that identify the rank.
using Alike = std::array<std::string, 6>;

Alike alike(const RankRow& row) {
  return {row.job,    or_dash(row.cpus),          or_dash(row.numa), or_dash(list_of(row.gpus)),
          row.memory, std::to_string(row.threads)};
}

struct Line {
  IdSet ranks = {};
  bool any_rank = false;
  std::vector<std::string> hosts = {};  // in order of appearance
  std::set<std::string> hosts_seen = {};
  std::set<std::string> commands = {};
  int pid = 0;
};

std::string short_hosts(const std::vector<std::string>& hosts) {
  constexpr std::size_t longest = 30;
  auto text = compress_hosts(hosts);
  if (text.size() <= longest) return text;
  return fmt::format("{} hosts", hosts.size());
}

std::vector<TableRow> rows_of(const Report& report) {
  std::map<std::pair<Alike, std::string>, Line> lines;
  std::vector<const std::pair<const std::pair<Alike, std::string>, Line>*> order;
  for (const auto& row : report.ranks) {
    // A process that is not a rank is never merged with another.
    const auto key = std::pair(alike(row), row.rank < 0 ? std::to_string(row.pid) : "");
    const auto [at, is_new] = lines.try_emplace(key);
    auto& line = at->second;
    if (is_new) order.push_back(&*at);
    add_rank(line.ranks, row.rank);
    line.any_rank = line.any_rank || row.rank >= 0;
    if (line.hosts_seen.insert(row.host).second) line.hosts.push_back(row.host);
    line.commands.insert(row.command);
    line.pid = row.pid;
  }
  std::vector<TableRow> rows;
  for (const auto* entry : order) {
    const auto& [job, cpus, numa, gpus, memory, threads] = entry->first.first;
    const auto& line = entry->second;
    rows.push_back({line.any_rank ? rank_words(line.ranks) : fmt::format("pid {}", line.pid),
                    short_hosts(line.hosts), or_dash(job), cpus, numa, gpus, memory, threads,
                    line.commands.size() == 1 ? *line.commands.begin()
                                              : fmt::format("{} programs", line.commands.size())});
  }
  return rows;
}

std::string table_of(const Report& report, bool color) {
  auto rows = rows_of(report);
  if (rows.empty()) return "";
  rows.insert(rows.begin(),
              {"RANKS", "HOST", "JOB", "CPUS", "NUMA", "GPU", "MEMORY", "THREADS", "COMMAND"});
  auto lines = table_lines(rows);
  if (color) lines.front() = "\x1b[1m" + lines.front() + "\x1b[0m";
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  return text + "\n";
}

std::string colored(Level level, bool color) {
  auto word = fmt::format("{:<4}", to_string(level));
  if (!color) return word;
  const char* code = level == Level::fail ? "1;31" : level == Level::warn ? "1;33" : "1;32";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, word);
}

/// Returns `text` wrapped at blanks; lines after the first are indented.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t column = indent;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    const auto word = text.substr(0, end);
    if (column > indent && column + 1 + word.size() > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out + "\n";
}

std::string title_of(const std::string& id) {
  for (const auto& rule : rule_names())
    if (rule.id == id) return std::string(rule.title);
  return "";
}

/// The step of the ranks: each of several steps has a rank 0.
bool several_jobs(const Report& report) {
  return std::ranges::any_of(
      report.ranks, [&](const RankRow& row) { return row.job != report.ranks.front().job; });
}

std::string render(const Finding& finding, std::size_t width, bool color, bool name_job) {
  constexpr std::size_t indent = 7;
  const auto job = name_job && !finding.job.empty() ? " of " + finding.job : std::string();
  const auto who = finding.ranks.empty()
                       ? ""
                       : fmt::format(" (rank{} {}{})", finding.ranks.size() == 1 ? "" : "s",
                                     rank_words(finding.ranks), job);
  auto text = fmt::format("{} {}  {}{}\n", colored(finding.level, color), finding.id,
                          title_of(finding.id), who);
  const auto line = [&](std::string_view word, const std::string& what) {
    if (!what.empty()) text += fmt::format("  {:<5}", word) + wrapped(what, indent, width);
  };
  line("seen", finding.seen);
  if (finding.level == Level::ok) return text;
  line("cost", finding.cost);
  line("fix", finding.fix);
  return text;
}

std::string verdict(const Report& report, bool color) {
  const auto count = [&](Level level) {
    return std::ranges::count_if(
        report.findings, [level](const Finding& finding) { return finding.level == level; });
  };
  const auto plural = [](std::int64_t number, std::string_view noun) {
    return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
  };
  const auto fails = count(Level::fail);
  const auto warnings = count(Level::warn);
  std::int64_t ranks = 0;
  for (const auto& row : report.ranks) ranks += row.rank >= 0 ? 1 : 0;
  const auto what = ranks > 0 ? plural(ranks, "rank") + " on " : std::string();
  const auto where = plural(std::ssize(report.hosts), "node");
  const auto lost =
      report.unanswered.empty()
          ? std::string()
          : fmt::format("; {} did not answer", plural(std::ssize(report.unanswered), "node"));
  if (fails == 0 && warnings == 0)
    return fmt::format("{} {}{}: nothing wrong found{}\n", colored(Level::ok, color), what, where,
                       lost);
  return fmt::format("{} {}{}: {}, {}{}\n", colored(fails > 0 ? Level::fail : Level::warn, color),
                     what, where, plural(fails, "failure"), plural(warnings, "warning"), lost);
}

}  // namespace

std::string render_report(const Report& report, int columns, bool color) {
  constexpr int narrowest = 60;
  const auto width = static_cast<std::size_t>(std::max(columns, narrowest));
  auto text = table_of(report, color) + render_gpus(report.gpus, color);
  const bool name_job = several_jobs(report);
  for (const auto& finding : report.findings) text += render(finding, width, color, name_job);
  for (const auto& [host, why] : report.unanswered)
    text += fmt::format("{} {} did not answer: {}\n", colored(Level::warn, color), host, why);
  if (!report.findings.empty() || !report.unanswered.empty()) text += "\n";
  return text + render_bench(report.bench) + verdict(report, color);
}

}  // namespace dllaunch
