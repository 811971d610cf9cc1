#include "launcher/failures/simulated_run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "launcher/failures/failure_clock.hpp"

namespace dllaunch {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// Those of launcher/supervise/policy.cpp.
constexpr int most_without_checkpoint = 3;
constexpr double least_seconds = 30;
double backoff_s(int fruitless) {
  constexpr double longest = 60;
  return fruitless <= 1 ? 0 : std::min(longest, std::pow(2.0, fruitless - 1));
}

/// A run that takes so much longer than its work, or fails so often in a row without a checkpoint,
/// does not come to an end.
constexpr double hopeless = 10;
constexpr int hopelessly_often = 1000;

class Run {
 public:
  Run(const HitRates& hits, const RecoveryRules& rules, const FailureCosts& costs, double work_s,
      std::uint64_t seed)
      : rules_(rules),
        costs_(costs),
        work_s_(work_s),
        latest_s_(hopeless * (work_s + costs.queue_s + costs.restart_s + rules.limit_s)),
        clock_(hits, seed) {}

  SimulatedRun run() && {
    begin_allocation();
    // Each round is a failure, the time limit or the end; the bound is for rules that come nowhere.
    constexpr int most_rounds = 1'000'000;
    while (run_.rounds < most_rounds && now_s_ < latest_s_) {
      ++run_.rounds;
      if (!go_on()) break;
    }
    run_.elapsed_s = now_s_;
    run_.work_s = saved_s_;
    return run_;
  }

 private:
  int held() const { return active_ + spare_; }
  double speed() const { return static_cast<double>(active_) / rules_.nodes; }
  double cycle_s() const { return rules_.interval_s + costs_.save_s; }

  /// Checkpoints completed by a time.
  double saves_by(double time_s) const {
    return std::floor(std::max(0.0, time_s - trains_from_s_) / cycle_s());
  }
  /// Training done by a time, saved or not.
  double worked_by(double time_s) const {
    const double saves = saves_by(time_s);
    const double rest = std::max(0.0, time_s - trains_from_s_) - saves * cycle_s();
    return (saves * rules_.interval_s + std::min(rest, rules_.interval_s)) * speed();
  }
  double finish_s() const {
    const double training_s = std::max(0.0, work_s_ - saved_s_) / speed();
    const double saves = std::max(0.0, std::ceil(training_s / rules_.interval_s) - 1);
    return trains_from_s_ + training_s + saves * costs_.save_s;
  }

  void pass_until(double time_s) {
    run_.node_s += held() * std::max(0.0, time_s - now_s_);
    now_s_ = std::max(now_s_, time_s);
  }

  void begin_allocation() {
    active_ = rules_.nodes;
    spare_ = rules_.spare_nodes;
    restarts_here_ = 0;
    has_script_ = true;
    ends_s_ = rules_.limit_s > 0 ? now_s_ + rules_.limit_s : never;
    trains_from_s_ = now_s_ + costs_.restart_s;
  }

  /// Until the next failure, or the end of the allocation or of the work. False: it is over.
  bool go_on() {
    const double asked_s = ends_s_ - rules_.grace_s;
    const double done_s = finish_s();
    const double until_s = std::max(now_s_, std::min(done_s, asked_s));
    const double failure_s = clock_.next_after(now_s_, held(), until_s);
    if (failure_s < until_s) return fail(failure_s);
    if (done_s <= asked_s) {
      pass_until(done_s);
      saved_s_ = work_s_;
      run_.finished = true;
      return false;
    }
    return reach_limit(until_s);
  }

  /// They save when they are asked to.
  bool reach_limit(double time_s) {
    if (time_s > trains_from_s_) fruitless_ = 0;
    saved_s_ += worked_by(time_s);
    pass_until(time_s + costs_.save_s);
    if (training_before_limit_s(rules_, costs_) <= 0) {
      pass_until(ends_s_);  // and so would each of the next
      return false;
    }
    if (!rules_.requeue_timeout) return false;
    wait_in_queue(now_s_);
    return true;
  }

  void wait_in_queue(double from_s) {
    pass_until(from_s);
    now_s_ += costs_.queue_s;
    begin_allocation();
  }

  /// The group that fails now: nodes with ranks, the script's among them, or spare ones.
  int lose_group() {
    int lost = 0;
    for (int left = clock_.group_size(); left > 0 && held() > 0; --left) {
      const int one = clock_.below(held());
      if (one >= active_) {
        --spare_;
        continue;
      }
      if (one == 0) has_script_ = false;
      --active_;
      ++lost;
    }
    return lost;
  }

  bool fail(double time_s) {
    const double saves = saves_by(time_s);
    const double kept_s = saves * rules_.interval_s * speed();
    pass_until(time_s);
    if (lose_group() == 0) return true;
    ++run_.interruptions;
    saved_s_ += kept_s;
    fruitless_ = saves > 0 ? 0 : fruitless_ + 1;
    // What fails before the supervisor acts is seen together.
    const double known_s = time_s + costs_.detect_s;
    for (double next = time_s; held() > 0;) {
      next = clock_.next_after(next, held(), known_s);
      if (next >= known_s) break;
      pass_until(next);
      lose_group();
    }
    pass_until(known_s);
    return recover(time_s);
  }

  bool recover(double failure_s) {
    // A checkpoint at the attempt before counts from there: policy.cpp, without_checkpoint().
    const int most = rules_.trains ? most_without_checkpoint : hopelessly_often;
    if (fruitless_ >= most) return false;
    const double backoff = backoff_s(fruitless_);
    const bool too_late = ends_s_ - now_s_ < least_seconds + backoff + rules_.grace_s;
    const int needed = rules_.min_nodes > 0 ? rules_.min_nodes : rules_.nodes;
    if (has_script_ && held() >= needed && restarts_here_ < rules_.max_restarts && !too_late) {
      ++restarts_here_;
      ++run_.restarts;
      const int all = held();
      active_ = std::min(rules_.nodes, all);
      spare_ = all - active_;
      pass_until(now_s_ + backoff);
      trains_from_s_ = now_s_ + costs_.restart_s;
      return true;
    }
    if (!rules_.requeue_node_fail) return false;
    ++run_.requeues;
    wait_in_queue(std::max(now_s_, failure_s + costs_.node_down_s));
    return true;
  }

  const RecoveryRules& rules_;
  const FailureCosts& costs_;
  const double work_s_;
  const double latest_s_;
  FailureClock clock_;

  SimulatedRun run_;
  double now_s_ = 0;
  double saved_s_ = 0;
  int fruitless_ = 0;  // attempts in a row without a new checkpoint

  // Of the allocation.
  int active_ = 0;  // nodes with ranks; the first has the script
  int spare_ = 0;
  int restarts_here_ = 0;
  bool has_script_ = true;
  double ends_s_ = never;
  double trains_from_s_ = 0;
};

}  // namespace

RecoveryRules plain_requeueing(RecoveryRules rules) {
  rules.spare_nodes = 0;
  rules.min_nodes = 0;
  rules.max_restarts = 0;
  rules.requeue_node_fail = true;
  rules.trains = false;  // Slurm requeues without an end
  return rules;
}

double training_before_limit_s(const RecoveryRules& rules, const FailureCosts& costs) {
  return rules.limit_s > 0 ? rules.limit_s - rules.grace_s - costs.restart_s : never;
}

SimulatedRun simulate_run(const HitRates& hits, const RecoveryRules& rules,
                          const FailureCosts& costs, double work_s, std::uint64_t seed) {
  return Run(hits, rules, costs, work_s, seed).run();
}

}  // namespace dllaunch
