#include "launcher/nodes/judge_nodes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "launcher/nodes/node_figures.hpp"
#include "launcher/slurm/host_list.hpp"
#include "support/counted.hpp"

namespace dllaunch {
namespace {

constexpr double together_s = 600;  // failures of several nodes within this have one cause
constexpr double failures_to_avoid = 1.5;
constexpr double late_share_to_avoid = 0.2;
constexpr double good_training_s = 5;  // assumed of every node: a run of a second says little
constexpr double slowness_to_avoid = 0.4;
constexpr double noise_of_speed = 0.1;
constexpr double memory_errors_to_watch = 100;
constexpr double score_to_watch = 0.25;

struct Charge {
  double score = 0;
  std::string words = {};
};

/// What is known of one node.
struct NodeRecord {
  double seen_s = 0;
  double used_s = 0;
  double trained = 0;    // weighed seconds of training in which lateness was looked for
  double trained_s = 0;  // the same, not weighed
  double late = 0;       // weighed seconds of these in which others waited for it
  double late_of = 0;    // weighed seconds of those runs
  double last_late_s = 0;
  double corrupted = 0;
  double last_corrupted_s = 0;
  std::vector<const NodeSighting*> troubles = {};
  std::vector<const NodeSighting*> memory = {};
};

bool is_trouble(SightingKind kind) {
  return kind == SightingKind::failed || kind == SightingKind::unfit ||
         kind == SightingKind::gpu_error;
}

using Records = std::map<NodeKey, NodeRecord>;

void take(const NodeSighting& one, double now, NodeRecord& record) {
  const double weight = weight_of_age(now - one.time);
  record.seen_s = std::max(record.seen_s, one.time);
  if (one.kind == SightingKind::used) {
    record.used_s += one.value;
    record.trained += weight * one.of;
    record.trained_s += one.of;
  } else if (one.kind == SightingKind::late) {
    record.late += weight * one.value;
    record.late_of += weight * one.of;
    record.last_late_s = std::max(record.last_late_s, one.time);
  } else if (one.kind == SightingKind::corrupted) {
    record.corrupted += weight;
    record.last_corrupted_s = std::max(record.last_corrupted_s, one.time);
  } else if (one.kind == SightingKind::memory_error) {
    record.memory.push_back(&one);
  } else if (is_trouble(one.kind)) {
    record.troubles.push_back(&one);
  }
}

void add(const NodeRecord& uses, NodeRecord& record) {
  record.seen_s = std::max(record.seen_s, uses.seen_s);
  record.used_s += uses.used_s;
  record.trained += uses.trained;
  record.trained_s += uses.trained_s;
}

Records records_of(const std::vector<NodeSighting>& seen, double now) {
  Records records;
  std::map<std::pair<std::string_view, std::string_view>, NodeRecord> uses;  // of lists
  for (const auto& one : seen) {
    if (!is_remembered(one.time, now)) continue;
    if (one.kind == SightingKind::used)
      take(one, now, uses[{one.cluster, one.nodes}]);
    else if (one.nodes.find_first_of("[,") == std::string::npos)
      take(one, now, records[{one.cluster, one.nodes}]);
  }
  for (const auto& [key, sum] : uses) {
    const auto hosts = expand_hosts(key.second);
    if (!hosts) continue;
    for (const auto& host : *hosts) add(sum, records[{std::string(key.first), host}]);
  }
  return records;
}

/// How much of a failure at that time is the node's own.
using OwnShares = std::map<double, double>;

std::map<std::string, OwnShares> own_shares(const Records& records) {
  std::map<std::string, std::vector<std::pair<double, const std::string*>>> troubles;
  for (const auto& [key, record] : records)
    for (const auto* one : record.troubles)
      troubles[key.first].emplace_back(one->time, &key.second);
  std::map<std::string, OwnShares> shares;
  for (auto& [cluster, all] : troubles) {
    std::ranges::sort(all, {}, [](const auto& one) { return one.first; });
    std::map<const std::string*, int> together;  // the nodes from `first` to before `end`
    auto first = all.begin();
    auto end = all.begin();
    for (const auto& [time, node] : all) {
      for (; end != all.end() && end->first <= time + together_s; ++end) ++together[end->second];
      for (; first->first < time - together_s; ++first)
        if (--together[first->second] == 0) together.erase(first->second);
      shares[cluster][time] = together.size() >= 3 ? 0 : together.size() == 2 ? 0.5 : 1;
    }
  }
  return shares;
}

/// Of a rank that a signal ended, which its program may cause at each start. What is lost or broken
/// counts 1; the script, which Slurm starts again only if it vanished, is not the program's.
bool may_be_the_programs(const NodeSighting& seen) {
  return seen.kind == SightingKind::failed && seen.value < 1 &&
         seen.value > vanished_script_weight && !seen.run.empty();
}

Charge failures_of(const NodeRecord& record, const OwnShares& shares, double now,
                   double& failures) {
  const NodeSighting* last = nullptr;
  int count = 0;
  std::set<std::string_view> runs;
  // Newest first.
  for (const auto* one : std::views::reverse(record.troubles)) {
    if (may_be_the_programs(*one) && !runs.insert(one->run).second) continue;
    const double most = one->kind == SightingKind::gpu_error ? 1 : std::clamp(one->value, 0.0, 1.0);
    const double share = shares.at(one->time);
    failures += weight_of_age(now - one->time) * most * share;
    if (share == 0) continue;
    ++count;
    if (last == nullptr || one->time > last->time) last = one;
  }
  if (last == nullptr) return {};
  return {failures / failures_to_avoid,
          fmt::format("{}, the last {} ago: {}", counted(count, "failure"),
                      age_words(now - last->time), last->words)};
}

Charge lateness_of(const NodeRecord& record, double now, double& share) {
  const double of = std::max(record.trained, record.late_of);
  if (of <= 0 || record.late <= 0) return {};
  share = std::min(1.0, record.late / of);
  const double counts = std::min(1.0, record.late / (of + good_training_s));
  const double age = now - record.last_late_s;
  // What was seen is said, and how little of it counts.
  const double seen_s = std::max(of, record.trained_s);
  const auto little = seen_s < 4 * good_training_s ? fmt::format(" of {:.0f} s", seen_s) : "";
  return {counts * weight_of_age(age) / late_share_to_avoid,
          fmt::format("others waited for it {:.0f} % of their training{}, last {} ago", 100 * share,
                      little, age_words(age))};
}

Charge slowness_of(const SlowFigure& slow, double now, double& share) {
  share = slow.share;
  if (1 - slow.share < noise_of_speed) return {};
  return {(1 - slow.share) * weight_of_age(now - slow.time) / slowness_to_avoid,
          fmt::format("{}, {} ago", slow.words, age_words(now - slow.time))};
}

/// Errors since the look before; a smaller number is that of a node that was booted since.
Charge memory_of(NodeRecord& record, double now) {
  std::ranges::stable_sort(record.memory, {}, &NodeSighting::time);
  double errors = 0;
  double all = 0;
  for (std::size_t i = 1; i < record.memory.size(); ++i) {
    const double before = record.memory[i - 1]->value;
    const double value = record.memory[i]->value;
    const double more = value >= before ? value - before : value;
    all += more;
    errors += more * weight_of_age(now - record.memory[i]->time);
  }
  if (errors <= 0) return {};
  return {score_to_watch * std::min(2.0, errors / memory_errors_to_watch),
          fmt::format("{:.0f} corrected memory errors", all)};
}

NodeJudgement judged(const NodeKey& key, NodeRecord& record, std::vector<Charge> charges,
                     NodeJudgement found) {
  found.cluster = key.first;
  found.node = key.second;
  found.seen_s = std::max(found.seen_s, record.seen_s);
  found.used_s = record.used_s;
  std::ranges::stable_sort(charges, std::greater(), &Charge::score);
  for (const auto& charge : charges) {
    found.score += charge.score;
    // A twentieth of what is enough to be watched is not worth a word.
    if (charge.score < score_to_watch / 20) continue;
    found.why += (found.why.empty() ? "" : "; ") + charge.words;
  }
  found.grade = found.score >= 1                ? NodeGrade::avoid
                : found.score >= score_to_watch ? NodeGrade::watch
                                                : NodeGrade::good;
  return found;
}

}  // namespace

double weight_of_age(double age_s) {
  return age_s <= 0 ? 1 : std::exp2(-age_s / (half_life_days * day_s));
}

bool is_remembered(double time, double now) {
  return time >= now - forgotten_after_days * day_s && time <= now + day_s;
}

std::string age_words(double age_s) {
  constexpr double minute_s = 60;
  constexpr double hour_s = 3600;
  const double age = std::max(0.0, age_s);
  if (age < 2 * minute_s) return fmt::format("{:.0f} s", age);
  if (age < 2 * hour_s) return fmt::format("{:.0f} minutes", age / minute_s);
  if (age < 2 * day_s) return fmt::format("{:.0f} hours", age / hour_s);
  return fmt::format("{:.0f} days", age / day_s);
}

std::vector<NodeJudgement> judge_nodes(const std::vector<NodeSighting>& seen, double now) {
  auto records = records_of(seen, now);
  const auto shares = own_shares(records);
  const auto slow = slow_figures(seen, now);
  std::vector<NodeJudgement> all;
  all.reserve(records.size());
  for (auto& [key, record] : records) {
    NodeJudgement found;
    std::vector<Charge> charges;
    if (!record.troubles.empty())
      charges.push_back(failures_of(record, shares.at(key.first), now, found.failures));
    charges.push_back(lateness_of(record, now, found.late_share));
    if (const auto figure = slow.find(key); figure != slow.end())
      charges.push_back(slowness_of(figure->second, now, found.speed_share));
    if (record.corrupted > 0)
      charges.push_back(
          {2 * record.corrupted, fmt::format("it computed wrong numbers, last {} ago",
                                             age_words(now - record.last_corrupted_s))});
    charges.push_back(memory_of(record, now));
    all.push_back(judged(key, record, std::move(charges), std::move(found)));
  }
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) {
    return a.grade != b.grade ? a.grade > b.grade : a.grade != NodeGrade::good && a.score > b.score;
  });
  return all;
}

}  // namespace dllaunch
