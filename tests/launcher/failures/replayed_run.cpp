#include "tests/launcher/failures/replayed_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <numeric>
#include <random>
#include <sstream>

#include "launcher/supervise/policy.hpp"
#include "support/json.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// Follows a run second by second of interest: checkpoint by checkpoint.
class Replay {
 public:
  Replay(const TracedFleet& fleet, const RecoveryRules& rules, const FailureCosts& costs,
         double work_s, double begin_s, std::uint64_t seed)
      : fleet_(fleet),
        rules_(rules),
        costs_(costs),
        work_s_(work_s),
        begin_s_(begin_s),
        now_s_(begin_s),
        random_(seed) {
    settings_.plan.max_restarts = rules.max_restarts;
    settings_.plan.requeue_on = {
        .timeout = rules.requeue_timeout, .preempted = true, .node_fail = rules.requeue_node_fail};
    settings_.plan.spare_nodes = rules.spare_nodes;
    settings_.plan.min_nodes = rules.min_nodes;
    settings_.trains = rules.trains;
    settings_.asks_ranks = true;
    settings_.grace_seconds = static_cast<int>(rules.grace_s);
  }

  SimulatedRun run() && {
    while (now_s_ < fleet_.until_s() && allocate() && live()) continue;
    run_.elapsed_s = now_s_ - begin_s_;
    run_.work_s = saved_s_;
    return run_;
  }

 private:
  /// False: the trace has too few nodes that are up, until its end.
  bool allocate() {
    const auto wanted = static_cast<std::size_t>(rules_.nodes + rules_.spare_nodes);
    for (; now_s_ < fleet_.until_s(); now_s_ += 600) {
      std::vector<int> up;
      for (int node = 0; node < fleet_.size(); ++node)
        if (fleet_.is_up(node, now_s_)) up.push_back(node);
      if (up.size() < wanted) continue;
      std::shuffle(up.begin(), up.end(), random_);
      held_.assign(up.begin(), up.begin() + static_cast<std::ptrdiff_t>(wanted));
      script_ = held_.front();
      ranks_ = rules_.nodes;
      allocated_s_ = now_s_;
      return true;
    }
    return false;
  }

  double ends_s() const { return rules_.limit_s > 0 ? allocated_s_ + rules_.limit_s : never; }

  std::pair<double, std::size_t> next_failure(double from_s) const {
    double first = never;
    std::size_t which = 0;
    for (std::size_t i = 0; i < held_.size(); ++i) {
      const double failure = fleet_.next_failure(held_[i], from_s);
      if (failure < first) {
        first = failure;
        which = i;
      }
    }
    return {first, which};
  }

  /// Of an allocation, until it is given back. False: the run is over.
  bool live() {
    while (true) {
      Attempt attempt{.job = "1", .allocation = allocation_, .cause = Cause::lost_node};
      const double trains_from = now_s_ + costs_.restart_s;
      const double failure = train(trains_from, attempt);
      if (attempt.cause == Cause::completed) {
        run_.finished = true;
        return false;
      }
      if (attempt.cause == Cause::lost_node) {
        if (failure == never) return false;
        now_s_ = failure + costs_.detect_s;
        drop_failed(failure);
        const bool script_lives = std::ranges::find(held_, script_) != held_.end();
        const int needed = rules_.min_nodes > 0 ? rules_.min_nodes : rules_.nodes;
        attempt.enough_nodes = script_lives && static_cast<int>(held_.size()) >= needed;
        ++run_.interruptions;
      }
      history_.push_back(attempt);
      const auto left = rules_.limit_s > 0 ? std::optional(ends_s() - now_s_) : std::nullopt;
      const auto decision = decide(history_, settings_, left);
      if (decision.next == Next::stop) return false;
      if (decision.next == Next::requeue) {
        if (attempt.cause == Cause::lost_node) {
          ++run_.requeues;
          now_s_ = std::max(now_s_, failure + costs_.node_down_s);
        }
        ++allocation_;
        now_s_ += costs_.queue_s;
        return true;
      }
      ++run_.restarts;
      ranks_ = std::min(rules_.nodes, static_cast<int>(held_.size()));
      now_s_ += std::chrono::duration<double>(decision.backoff).count();
    }
  }

  /// Until a node with ranks fails, whose moment it returns; spare ones only leave.
  double train(double from_s, Attempt& attempt) {
    const double speed = static_cast<double>(ranks_) / rules_.nodes;
    const double asked_s = ends_s() - rules_.grace_s;
    auto [failure, which] = next_failure(now_s_);
    double time = from_s;
    while (true) {
      const double left_s = (work_s_ - saved_s_) / speed;
      const bool last = left_s <= rules_.interval_s;
      const double trained = time + std::min(left_s, rules_.interval_s);
      const double kept = trained + (last ? 0 : costs_.save_s);
      while (failure < std::min(kept, asked_s) && which >= static_cast<std::size_t>(ranks_)) {
        const double gone = failure;
        held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(which));
        std::tie(failure, which) = next_failure(gone);
      }
      if (failure < std::min(kept, asked_s)) return failure;
      if (kept > asked_s) {
        attempt.cause = Cause::time_limit;
        attempt.new_checkpoint = asked_s > from_s;
        saved_s_ += std::clamp(asked_s - time, 0.0, trained - time) * speed;
        now_s_ = std::max(now_s_, asked_s) + costs_.save_s;
        return never;
      }
      saved_s_ += (trained - time) * speed;
      time = kept;
      attempt.new_checkpoint = true;
      if (last) {
        saved_s_ = work_s_;
        now_s_ = trained;
        attempt.cause = Cause::completed;
        return never;
      }
    }
  }

  /// Those that failed since then are known to be down now.
  void drop_failed(double since_s) {
    std::erase_if(held_, [&](int node) { return fleet_.next_failure(node, since_s) <= now_s_; });
  }

  const TracedFleet& fleet_;
  const RecoveryRules& rules_;
  const FailureCosts& costs_;
  const double work_s_;
  const double begin_s_;
  double now_s_;
  std::mt19937_64 random_;
  RecoverySettings settings_;
  std::vector<Attempt> history_;
  SimulatedRun run_;
  double saved_s_ = 0;
  std::vector<int> held_;  // in order: the first `ranks_` have ranks
  int ranks_ = 0;
  int script_ = 0;
  int allocation_ = 0;
  double allocated_s_ = 0;
};

}  // namespace

TracedFleet::TracedFleet(const NodeOutages& trace) : until_s_(trace.until_s) {
  std::map<std::string, std::vector<std::pair<double, double>>> by_node;
  for (const auto& outage : trace.all)
    by_node[outage.node].emplace_back(outage.failed_s, outage.repaired_s);
  nodes_.resize(static_cast<std::size_t>(trace.nodes));
  std::ranges::transform(by_node, nodes_.begin(), [](auto& one) { return one.second; });
}

bool TracedFleet::is_up(int node, double time_s) const {
  return std::ranges::none_of(nodes_[static_cast<std::size_t>(node)], [&](const auto& outage) {
    return outage.first <= time_s && time_s < outage.second;
  });
}

double TracedFleet::next_failure(int node, double time_s) const {
  for (const auto& [failed, repaired] : nodes_[static_cast<std::size_t>(node)])
    if (failed >= time_s) return failed;
  return never;
}

SimulatedRun replay_run(const TracedFleet& fleet, const RecoveryRules& rules,
                        const FailureCosts& costs, double work_s, double begin_s,
                        std::uint64_t seed) {
  return Replay(fleet, rules, costs, work_s, begin_s, seed).run();
}

std::string published_trace_csv() {
  std::ifstream in(DLLAUNCH_SOURCE_DIR "/../shared/data/failures/infinitehbd-fault_trace.json");
  std::ostringstream text;
  text << in.rdbuf();
  const Json events = Json::parse(text.str(), nullptr, false);
  if (!events.is_array()) return {};
  std::string csv = "# nodes: 400\n# from: 0\n# until: 349\nnode,failed,repaired\n";
  // Faults of a node nest and overlap: it is out while any is open.
  std::map<std::string, std::pair<int, double>> open;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Json& event = events[i];
    const auto node = value_at<std::string>(event, "node_id");
    const auto day = value_at<double>(event, "event_time");
    auto& [depth, since] = open[node];
    if (value_at<std::string>(event, "event_type") == "fault_start") {
      if (depth++ == 0) since = day;
    } else if (depth > 0 && --depth == 0) {
      csv += fmt::format("{},{},{}\n", node, since, day);
    }
  }
  return csv;
}

}  // namespace dllaunch
