#include "launcher/nodes/run_sightings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <map>
#include <utility>

#include "launcher/slurm/host_list.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

const Json& member_of(const Json& object, std::string_view key) {
  static const Json nothing;
  const auto found = object.find(key);
  return object.is_object() && found != object.end() ? *found : nothing;
}

/// What a signal may have to do with the node: a kill from outside, or memory that failed, more
/// than a program's own mistakes.
double weight_of_signal(int signal) {
  switch (signal) {
    case SIGKILL:
    case SIGBUS:
    case SIGILL:
      return 0.5;
    case SIGSEGV:
    case SIGABRT:
    case SIGFPE:
      return 0.25;
    default:
      return 0;
  }
}

/// In a rank's first error: what programs print of broken hardware and file systems of a node.
bool names_hardware(std::string_view error) {
  constexpr std::array<std::string_view, 6> signs = {"uncorrectable",      "ECC error",
                                                     "fallen off the bus", "Xid",
                                                     "Stale file handle",  "Machine check"};
  return std::ranges::any_of(
      signs, [&](std::string_view sign) { return error.find(sign) != std::string_view::npos; });
}

/// XID errors of the program itself (runtime/gpu/sensors/xid.cpp).
bool is_of_program(std::int64_t xid) {
  return xid == 13 || xid == 31 || xid == 43 || xid == 45;
}

NodeSighting sighting_of(const EndedStart& start, SightingKind kind, const std::string& node) {
  return {.time = start.ended_s,
          .kind = kind,
          .cluster = start.cluster,
          .nodes = node,
          .run = start.job};
}

}  // namespace

/// By Slurm's name or the host's own. nullptr: no node of the ranks.
EventSightings::OfNode* EventSightings::node_of(const std::string& host) {
  const auto short_name = host.substr(0, host.find('.'));
  for (const auto& name : {host, short_name})
    if (!name.empty() && std::ranges::find(start_.nodes, name) != start_.nodes.end())
      return &nodes_[name];
  return nullptr;
}

void EventSightings::take(std::string_view line) {
  constexpr std::array<std::pair<std::string_view, void (EventSightings::*)(const Json&)>, 4>
      kinds = {{{"ranks", &EventSightings::take_ranks},
                {"gpus", &EventSightings::take_gpus},
                {"stall", &EventSightings::take_stall},
                {"corrupted", &EventSightings::take_corrupted}}};
  // Most lines are steps.
  const auto head = line.substr(0, 200);
  if (std::ranges::none_of(kinds, [&](const auto& kind) {
        return head.find(fmt::format("\"{}\"", kind.first)) != std::string_view::npos;
      }))
    return;
  const auto event = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!event.is_object()) return;
  const auto token = value_at<std::int64_t>(event, "generation", start_.fencing_token);
  if (token != start_.fencing_token) return;
  const auto name = value_at<std::string>(event, "event");
  for (const auto& [kind, take] : kinds)
    if (name == kind) (this->*take)(event);
}

void EventSightings::take_ranks(const Json& event) {
  // What a rank spent, but for `delayed`, which is what it made others wait. Of the quantiles 5 %
  // and 95 % the mean: of two ranks exactly theirs.
  constexpr std::size_t low = 1;
  constexpr std::size_t high = 3;
  if (const auto& columns = member_of(event, "seconds"); columns.is_object())
    for (const auto& [name, quantiles] : columns.items())
      if (name != "delayed" && quantiles.is_array() && quantiles.size() > high &&
          quantiles[low].is_number() && quantiles[high].is_number())
        trained_s_ +=
            std::max(0.0, (quantiles[low].get<double>() + quantiles[high].get<double>()) / 2);
  for (const auto& row : member_of(event, "stragglers")) {
    // Between steps a program does what is its own: it writes events, for example.
    if (value_at<std::string>(row, "cause") == "between") continue;
    if (auto* node = node_of(value_at<std::string>(row, "host"))) node->straggles = true;
  }
  std::map<OfNode*, double> late;  // of a node's ranks the latest
  for (const char* rows : {"slowest", "stragglers"})
    for (const auto& row : member_of(event, rows))
      if (auto* node = node_of(value_at<std::string>(row, "host")))
        late[node] = std::max(late[node], value_at<double>(row, "delayed"));
  for (const auto& [node, seconds] : late) node->late_s += seconds;
}

void EventSightings::take_gpus(const Json& event) {
  for (const auto& row : member_of(event, "worst")) {
    double errors = std::max(0.0, value_at<double>(row, "ecc_errors"));
    std::string words = errors > 0 ? "memory errors that could not be corrected" : "";
    if (const auto& xids = member_of(row, "xids"); xids.is_array()) {
      for (const auto& xid : xids) {
        if (!xid.is_number_integer() || is_of_program(xid.get<std::int64_t>())) continue;
        ++errors;
        words = fmt::format("XID {}", xid.get<std::int64_t>());
      }
    }
    auto* node = errors > 0 ? node_of(value_at<std::string>(row, "host")) : nullptr;
    if (node == nullptr) continue;
    node->gpu_errors += errors;
    node->gpu_words = fmt::format("GPU {}: {}", value_at<std::string>(row, "pci"), words);
  }
}

void EventSightings::take_stall(const Json& event) {
  if (value_at<std::string>(event, "state") != "gave up") return;
  const auto late = value_at<std::vector<std::int64_t>>(event, "late_ranks");
  // Ranks of several nodes: what they wait for is not known.
  std::map<OfNode*, std::int64_t> nodes;
  for (const auto rank : late)
    if (auto* node = node_of(host_of_rank_(static_cast<int>(rank)))) nodes.emplace(node, rank);
  if (nodes.size() != 1) return;
  const auto& [node, rank] = *nodes.begin();
  ++node->gave_up;
  node->stall_words = fmt::format("rank {} held up the others until the run was ended", rank);
}

/// Names the node in one of several ways: `host`, `node`, a list of them, or the rank. What is
/// still to be found out says nothing yet.
void EventSightings::take_corrupted(const Json& event) {
  const auto how = value_at<std::string>(event, "how");
  if (how == "pending" || how == "unknown") return;
  std::vector<std::string> hosts;
  for (const char* key : {"host", "node", "hosts", "nodes"}) {
    const auto& named = member_of(event, key);
    if (named.is_string()) hosts.push_back(named.get<std::string>());
    if (named.is_array())
      for (const auto& one : named)
        if (one.is_string()) hosts.push_back(one.get<std::string>());
  }
  if (hosts.empty()) {
    auto ranks = value_at<std::vector<std::int64_t>>(event, "ranks");
    if (const auto& rank = member_of(event, "rank"); rank.is_number_integer())
      ranks.push_back(rank.get<std::int64_t>());
    for (const auto rank : ranks) hosts.push_back(host_of_rank_(static_cast<int>(rank)));
  }
  for (const auto& host : hosts) {
    auto* node = node_of(host);
    if (node == nullptr) continue;
    node->corrupted += 1;
    node->corrupted_words = value_at<std::string>(event, "line");
  }
}

std::vector<NodeSighting> EventSightings::observations() const {
  std::vector<NodeSighting> all;
  const auto add = [&](SightingKind kind, const std::string& node, double value,
                       const std::string& words) {
    auto one = sighting_of(start_, kind, node);
    one.value = value;
    one.words = words;
    if (kind == SightingKind::late) one.of = trained_s_;
    all.push_back(std::move(one));
  };
  for (const auto& [node, seen] : nodes_) {
    if (seen.straggles && seen.late_s > 0) add(SightingKind::late, node, seen.late_s, "");
    if (seen.gpu_errors > 0) add(SightingKind::gpu_error, node, seen.gpu_errors, seen.gpu_words);
    if (seen.corrupted > 0)
      add(SightingKind::corrupted, node, seen.corrupted, seen.corrupted_words);
    if (seen.gave_up > 0) add(SightingKind::failed, node, 0.5, seen.stall_words);
  }
  return all;
}

std::vector<NodeSighting> sightings_of(const EndedStart& start, const Attempt& ended) {
  if (ended.cause == Cause::lost_node) {
    const auto nodes = expand_hosts(ended.detail);
    std::vector<NodeSighting> all;
    if (!nodes) return all;
    for (const auto& node : *nodes) {
      auto lost = sighting_of(start, SightingKind::failed, node);
      lost.value = 1;
      lost.words = "lost while ranks ran on it";
      all.push_back(std::move(lost));
    }
    return all;
  }
  const bool died = ended.cause == Cause::failed || ended.cause == Cause::unproven;
  const auto& dead = ended.dead;
  if (!died || dead.host.empty() || dead.out_of_memory) return {};
  // Of ranks that ended alike the others may have been killed because of the first, and which was
  // first is not known.
  if (!dead.others.empty()) return {};
  const bool hardware = names_hardware(ended.first_error);
  auto failed = sighting_of(start, SightingKind::failed, dead.host);
  failed.value = hardware ? 1 : weight_of_signal(dead.signal);
  failed.words = describe(dead);
  if (hardware) failed.words += " (" + ended.first_error + ")";
  if (failed.value == 0) return {};
  return {failed};
}

std::vector<NodeSighting> sightings_of(const std::vector<NodeVerdict>& verdicts,
                                       const std::vector<std::string>& unfit,
                                       const std::string& cluster, const std::string& job,
                                       double time) {
  std::vector<NodeSighting> all;
  for (const auto& verdict : verdicts) {
    NodeSighting seen{.time = time, .cluster = cluster, .nodes = verdict.node, .run = job};
    for (const auto& figure : verdict.measured) {
      seen.kind =
          figure.what == memory_errors_figure ? SightingKind::memory_error : SightingKind::measured;
      seen.what = figure.what;
      seen.like = figure.like;
      seen.value = figure.value;
      all.push_back(seen);
    }
    // A node that passed is left out too if Slurm has lost it, or if it computed wrong numbers.
    const auto own = std::ranges::find_if(verdict.checks, [](const PreflightResult& check) {
      return check.level == Level::fail && !check.shared;
    });
    const bool left_out = std::ranges::find(unfit, verdict.node) != unfit.end();
    if (!left_out || own == verdict.checks.end()) continue;
    seen.kind = SightingKind::unfit;
    seen.value = 1;
    seen.what = seen.like = "";
    seen.words = fmt::format("unfit, {}: {}", own->name, own->why);
    all.push_back(seen);
  }
  return all;
}

}  // namespace dllaunch
