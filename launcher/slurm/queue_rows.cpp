#include "launcher/slurm/queue_rows.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "launcher/base/split.hpp"
#include "launcher/slurm/array_tasks.hpp"
#include "launcher/slurm/client.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/plain_query.hpp"
#include "launcher/slurm/slurm_messages.hpp"
#include "launcher/slurm/slurm_time.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

using std::chrono::milliseconds;

/// Bounds what a damaged line can claim.
constexpr int most = 1 << 20;

std::string_view without_blanks(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

bool takes_no_part(std::string_view reason) {
  constexpr std::array<std::string_view, 6> words = {"JobHeld",           "Dependency",
                                                     "BadConstraints",    "PartitionDown",
                                                     "PartitionInactive", "Reservation"};
  return std::ranges::any_of(words,
                             [reason](std::string_view word) { return reason.starts_with(word); });
}

/// "74_[0-9,12%2]" has 11 tasks, 2 of which may run at a time.
int tasks_at_once(std::string_view id) {
  const int jobs = jobs_with_id(id);
  const auto tasks = parse_array_tasks(id);
  return tasks && tasks->at_once > 0 ? std::min(jobs, tasks->at_once) : jobs;
}

std::optional<double> seconds_of(std::string_view text) {
  const auto seconds = parse_slurm_elapsed(text);
  return seconds ? std::optional(*seconds) : std::nullopt;
}

std::optional<double> moment_of(std::string_view text) {
  const auto time = parse_slurm_time(text);
  return time ? std::optional(static_cast<double>(*time)) : std::nullopt;
}

Result<std::string> ask(System& system, const std::vector<std::string>& argv, milliseconds limit) {
  auto output = system.run(plain_query(system, argv), limit);
  if (!output) return std::move(output).error();
  if (output->exit_code == 0) return std::move(output->out);
  return Error{ErrorKind::unavailable, fmt::format("{}: {}", argv[0], message_of(*output)), ""};
}

}  // namespace

std::vector<QueueRow> parse_queue_rows(std::string_view text) {
  std::vector<QueueRow> rows;
  for (const auto line : split_lines(text)) {
    const auto parts = split_at(line, '|');
    if (parts.size() < 8) continue;
    const auto nodes = parse_number<int>(without_blanks(parts[3]));
    if (!nodes || *nodes < 1 || *nodes > most) continue;
    const auto state = without_blanks(parts[1]);
    QueueRow row{.waits = state == "PENDING",
                 .nodes = *nodes,
                 .limit_s = seconds_of(without_blanks(parts[4])),
                 .start_s = moment_of(without_blanks(parts[5]))};
    for (const auto partition : split_at(without_blanks(parts[2]), ','))
      if (!partition.empty()) row.partitions.emplace_back(partition);
    if (state == "COMPLETING") row.limit_s = 0;  // it ends now, long before its limit
    if (row.waits) {
      if (takes_no_part(without_blanks(parts[7]))) continue;
      row.tasks = tasks_at_once(parts[0]);
    } else {
      auto hosts = expand_hosts(without_blanks(parts[6]));
      if (!hosts || hosts->empty()) continue;
      row.hosts = *std::move(hosts);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::string> parse_busy_hosts(std::string_view text) {
  std::set<std::string> hosts;
  for (const auto line : split_lines(text)) {
    const auto parts = split_at(line, '|');
    if (parts.size() < 2) continue;
    const auto host = without_blanks(parts[0]);
    const auto state = without_blanks(parts[1]);
    const bool busy = state.starts_with("allocated") || state.starts_with("mixed") ||
                      state.starts_with("draining");
    if (busy && !host.empty()) hosts.emplace(host);
  }
  return {hosts.begin(), hosts.end()};
}

std::map<std::string, std::string> parse_precedence(std::string_view text) {
  std::map<std::string, std::string> precedence;
  for (const auto line : split_lines(text)) {
    const auto parts = split_at(line, '|');
    if (parts.size() < 5) continue;
    precedence.emplace(without_blanks(parts[2]),
                       fmt::format("{}|{}", without_blanks(parts[3]), without_blanks(parts[4])));
  }
  return precedence;
}

bool QueueView::hides_jobs() const {
  std::set<std::string_view> known;
  for (const auto& row : rows) known.insert(row.hosts.begin(), row.hosts.end());
  const auto unknown = std::ranges::count_if(
      busy, [&known](const std::string& host) { return !known.contains(host); });
  // A job may have begun or ended between the two questions.
  return unknown > 1 + static_cast<std::ptrdiff_t>(busy.size() / 20);
}

Result<QueueView> whole_queue(System& system, milliseconds limit) {
  const auto began = std::chrono::steady_clock::now();
  const auto queue = ask(
      system,
      {"squeue", "--noheader", "--all", "--sort=-p", fmt::format("--format={}", queue_rows_format)},
      limit);
  if (!queue) return queue.error();
  const auto took =
      std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began);
  const auto nodes =
      ask(system, {"sinfo", "--noheader", "--all", "--Node", "--format=%N|%T|%R|%p|%M"},
          std::max(limit - took, milliseconds(1)));
  if (!nodes) return nodes.error();
  return QueueView{.rows = parse_queue_rows(*queue),
                   .busy = parse_busy_hosts(*nodes),
                   .precedence = parse_precedence(*nodes)};
}

std::optional<StartEstimate> parse_start_estimate(std::string_view message) {
  const std::string text = start_estimate_in(message);
  constexpr std::string_view before = "start at ";
  if (!text.starts_with(before)) return std::nullopt;
  const auto after = [&text](std::string_view words) {
    const auto begin = text.find(words);
    if (begin == std::string::npos) return std::string();
    const auto rest = std::string_view(text).substr(begin + words.size());
    return std::string(rest.substr(0, rest.find_first_of(" \r")));
  };
  const auto start = moment_of(after(before));
  if (!start) return std::nullopt;
  return StartEstimate{
      .start_s = *start, .nodes = after(" on nodes "), .partition = after(" in partition ")};
}

}  // namespace dllaunch
