#include "launcher/nodes/node_witness.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>

#include "launcher/base/split.hpp"
#include "launcher/base/unix_seconds.hpp"
#include "launcher/nodes/avoided_nodes.hpp"
#include "launcher/nodes/judge_nodes.hpp"
#include "launcher/nodes/run_sightings.hpp"
#include "launcher/os/line_tail.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/slurm/host_list.hpp"
#include "runtime/rank/run_ownership.hpp"
#include "support/isolated_call.hpp"

namespace dllaunch {
namespace {

/// Of a start's events the last; a day of steps is 100 MB.
constexpr std::uint64_t most_event_bytes = std::uint64_t{32} << 20;

using OwnerAndToken = std::pair<std::int64_t, RunOwner>;

/// Who ends a job by a signal does not wait for long.
std::chrono::milliseconds patience_after(Cause cause) {
  constexpr std::chrono::seconds with_signal(2);
  constexpr std::chrono::seconds without(10);
  switch (cause) {
    case Cause::cancelled:
    case Cause::superseded:
    case Cause::time_limit:
    case Cause::preempted:
    case Cause::requeued:
    case Cause::cut_short:
      return with_signal;
    default:
      return without;
  }
}

/// Lists of all hosts, each at most so long: names without a pattern fill one line.
std::vector<std::string> host_lists_within(std::span<const std::string> hosts, std::size_t most) {
  auto list = compress_host_set({hosts.begin(), hosts.end()});
  if (list.size() <= most || hosts.size() < 2) return {std::move(list)};
  auto lists = host_lists_within(hosts.first(hosts.size() / 2), most);
  for (auto& more : host_lists_within(hosts.subspan(hosts.size() / 2), most))
    lists.push_back(std::move(more));
  return lists;
}

std::uint64_t bytes_of(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

}  // namespace

std::string cluster_in_job(System& system) {
  return system.environment("SLURM_CLUSTER_NAME").value_or("");
}

NodeWitness::NodeWitness(System& system, RunDir run, std::string job, const std::string& of_site)
    : system_(system),
      run_(std::move(run)),
      job_(std::move(job)),
      cluster_(cluster_in_job(system)) {
  if (!job_.empty()) book_ = find_node_book(system, of_site);
}

void NodeWitness::saw(const std::vector<NodeVerdict>& verdicts,
                      const std::vector<std::string>& unfit) {
  if (book_) write(sightings_of(verdicts, unfit, cluster_, job_, unix_seconds()));
}

void NodeWitness::begins(const std::string& nodes, std::int64_t fencing_token) {
  nodes_ = nodes;
  fencing_token_ = fencing_token;
  began_s_ = unix_seconds();
  events_from_ = bytes_of(run_.events());
}

void NodeWitness::ended(const Attempt& attempt) {
  if (!book_ || began_s_ == 0) return;
  EndedStart start{.cluster = cluster_,
                   .job = job_,
                   .began_s = std::exchange(began_s_, 0),
                   .ended_s = unix_seconds(),
                   .fencing_token = fencing_token_};
  if (auto nodes = expand_hosts(nodes_)) start.nodes = *std::move(nodes);
  if (start.nodes.empty() || attempt.cause == Cause::not_started) return;
  EventSightings events(start, [this](int rank) { return host_of_rank(run_, rank); });
  const auto size = bytes_of(run_.events());
  const auto newest = size > most_event_bytes ? size - most_event_bytes : 0;
  for_each_line(
      run_.events(), [&](const std::string& line) { events.take(line); },
      std::max(events_from_, newest));
  std::vector<NodeSighting> seen;
  for (auto& nodes : host_lists_within(start.nodes, most_nodes_text))
    seen.push_back({.time = start.ended_s,
                    .kind = SightingKind::used,
                    .cluster = cluster_,
                    .nodes = std::move(nodes),
                    .run = job_,
                    .value = std::max(0.0, start.ended_s - start.began_s),
                    .of = events.trained_s()});
  for (const auto& more : {events.observations(), sightings_of(start, attempt)})
    seen.insert(seen.end(), more.begin(), more.end());
  write(seen, patience_after(attempt.cause));
}

void NodeWitness::vanished() {
  const auto owner = book_ ? run_owner(run_.path) : Result(std::optional<OwnerAndToken>());
  if (!owner || !*owner || (*owner)->second.host.empty()) return;
  const auto& host = (*owner)->second.host;
  write({{.time = unix_seconds(),
          .kind = SightingKind::failed,
          .cluster = cluster_,
          .nodes = host.substr(0, host.find('.')),
          .run = job_,
          .value = vanished_script_weight,
          .words = "a job's script ended there without a message"}});
}

std::vector<std::string> NodeWitness::unwanted(const std::vector<std::string>& avoid,
                                               const std::string& nodes, std::size_t taken) {
  const auto hosts = expand_hosts(nodes);
  if (avoid.empty() || !hosts || hosts->size() <= taken) return {};
  if (!avoids_by_judgement(avoid)) return worst_first({}, avoid, cluster_, *hosts);
  if (!book_) return {};
  const auto worst = isolated_call(
      [&]() -> Result<std::string> {
        const auto read = read_node_book(*book_);
        if (!read) return read.error();
        const auto judged = judge_nodes(read->all, unix_seconds());
        return fmt::format("{}", fmt::join(worst_first(judged, avoid, cluster_, *hosts), "\n"));
      },
      std::chrono::seconds(5));
  if (!worst) {
    gave_up(of_book(*book_, worst.error()));
    return {};
  }
  std::vector<std::string> names;
  for (const auto name : split_lines(*worst)) names.emplace_back(name);
  return names;
}

void NodeWitness::write(const std::vector<NodeSighting>& seen, std::chrono::milliseconds patience) {
  if (seen.empty()) return;
  const auto done = write_into_node_book(*book_, seen, unix_seconds(), patience);
  if (!done) gave_up(done.error());
}

void NodeWitness::gave_up(const Error& error) {
  if (!std::exchange(complained_, true))
    system_.log(fmt::format("dllaunch: warning: {}{}\n", error.what,
                            error.hint.empty() ? "" : "; " + error.hint));
  // A file system that hangs would hold up every start.
  if (error.kind == ErrorKind::timeout) book_.reset();
}

}  // namespace dllaunch
