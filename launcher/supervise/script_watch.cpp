#include "launcher/supervise/script_watch.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <thread>

#include "launcher/base/exit_code.hpp"
#include "launcher/base/unix_seconds.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/slurm/client.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/supervise/liveness.hpp"
#include "launcher/supervise/storage.hpp"
#include "support/awake_clock.hpp"

namespace dllaunch {
namespace {

constexpr std::chrono::seconds script_query_limit(10);  // per query to Slurm

class ScriptWatch {
 public:
  ScriptWatch(System& system, const WatchedScript& script) : system_(system), script_(script) {
    if (script.trains) liveness_.emplace(script.dir, true, 0, AwakeClock::now());
  }

  ScriptNode look() const {
    return judge_script_node(ask_of_job(system_, script_.allocation, script_query_limit),
                             script_.allocation, script_.host);
  }

  /// The job goes on if the node comes back: only Slurm ends it.
  void look_at_node(double silence_s) {
    const auto now = AwakeClock::now();
    if (!liveness_) return;
    liveness_->look(now);
    auto node = script_.allocation;
    node.nodes = script_.host;
    node.host.clear();
    std::optional<NodesOutOfOrder> found = NodesOutOfOrder{};
    if (liveness_->unusually_silent(now, silence_s))
      found = nodes_out_of_order(system_, node, script_query_limit);
    if (!found) return;
    const bool away = !found->names.empty();
    away_looks_ = away ? away_looks_ + 1 : 0;
    const bool waits = away_looks_ >= most_away_looks;
    if (std::exchange(waits_, waits) == waits) return;
    const auto why = fmt::format(
        "node {}, where the job's script runs, does not answer; the job is {} when Slurm has "
        "marked it down, which takes SlurmdTimeout (scontrol show config)",
        script_.host, script_.requeue_on.node_fail ? "requeued" : "cancelled");
    append(line_of(JournalWait{unix_seconds(), script_.allocation.job, script_.allocation.restarts,
                               waits ? why : ""}));
    system_.log(fmt::format("dllaunch: {}\n", waits ? why : script_.host + " answers again"));
  }

  /// Whether the node did not answer when last asked, which is not said yet.
  bool is_in_doubt() const { return !waits_ && away_looks_ > 0; }

  /// Returns true when done.
  bool end_job() {
    const auto lost = fmt::format("lost node {}, where the job's script ran", script_.host);
    if (!script_.requeue_on.node_fail)
      return cancel(lost + "; recovery.requeue_on does not list node_fail");
    // Log first: the requeue ends this process too.
    if (!said_) write(Next::requeue, lost + "; requeueing");
    if (!said_) gone_since_ = AwakeClock::now();
    said_ = true;
    const bool patient = AwakeClock::now() - gone_since_ < most_patience;
    const auto done = requeue(system_, script_.allocation, {.wait = patient});
    if (done || done.error().kind == ErrorKind::bad_request) return true;
    system_.log(fmt::format("dllaunch: {}\n", done.error().what));
    if (done.error().kind != ErrorKind::unavailable) return false;
    // Another process, such as an orphan of the script, may have acted first.
    if (look() != ScriptNode::gone || ++refused_ < most_refusals) return false;
    return cancel(fmt::format("{}; not requeued: {}", lost, done.error().what));
  }

 private:
  static constexpr int most_refusals = 3;
  static constexpr std::chrono::minutes most_patience{10};  // with nodes in doubt

  /// Cancels the job: without its script it only holds its nodes.
  bool cancel(const std::string& why) {
    write(Next::stop, why);
    return bool(cancel_job(system_, name_of(script_.allocation), script_query_limit));
  }

  void write(Next next, const std::string& reason) const {
    const auto line = line_of(JournalDecision{.time = unix_seconds(),
                                              .job = script_.allocation.job,
                                              .allocation = script_.allocation.restarts,
                                              .next = next,
                                              .reason = reason,
                                              .status = RunStatus::node_fail,
                                              .exit_code = exit_code::job_failed},
                              std::nullopt);
    system_.log(fmt::format("dllaunch: {}: {}\n", to_string(next), reason));
    append(line);
  }

  void append(const std::string& line) const {
    const auto done = storage_.write([&] { return append_to_journal(script_.dir, line); });
    if (!done) system_.log("dllaunch: " + done.error().what + "\n");
  }

  System& system_;
  const WatchedScript& script_;
  const RunStorage storage_{script_.dir};
  static constexpr int most_away_looks = 2;  // then it counts
  std::optional<Liveness> liveness_;         // of a training
  int away_looks_ = 0;
  bool waits_ = false;
  bool said_ = false;
  AwakeClock::time_point gone_since_;
  int refused_ = 0;
};

}  // namespace

ScriptNode judge_script_node(const std::optional<SlurmJob>& job, const JobAllocation& ours,
                             const std::string& host) {
  if (!job || job->state.empty()) return ScriptNode::unknown;
  if (job->restarts != ours.restarts) return ScriptNode::settled;
  constexpr std::array<std::string_view, 4> alive = {"RUNNING", "SUSPENDED", "STOPPED", "RESIZING"};
  const bool lives = std::any_of(alive.begin(), alive.end(), [&](std::string_view word) {
    return job->state.starts_with(word);
  });
  if (!lives) return ScriptNode::settled;
  const auto nodes = expand_hosts(job->nodes);
  if (!nodes || nodes->empty() || host.empty()) return ScriptNode::unknown;
  const bool there = std::find(nodes->begin(), nodes->end(), host) != nodes->end();
  return there ? ScriptNode::there : ScriptNode::gone;
}

void watch_script(System& system, const WatchedScript& script, WatchIntervals intervals) {
  ScriptWatch watch(system, script);
  for (auto pause = intervals.look;;) {
    {
      const AwakeClock::Wait wait(pause);
      std::this_thread::sleep_for(pause);
    }
    const auto node = watch.look();
    if (node == ScriptNode::settled) return;
    if (node == ScriptNode::there) watch.look_at_node(intervals.silence_s);
    if (node == ScriptNode::gone && watch.end_job()) return;
    // A second look decides, and a user waits for it.
    if (watch.is_in_doubt())
      pause = intervals.look / 2;
    else
      pause = node == ScriptNode::there ? intervals.look : std::min(2 * pause, intervals.longest);
  }
}

}  // namespace dllaunch
