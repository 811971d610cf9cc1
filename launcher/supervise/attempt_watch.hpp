// Watches one attempt: starts the ranks, waits, and returns how they ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/os/owned_process.hpp"
#include "launcher/os/starter_process.hpp"
#include "launcher/os/system.hpp"
#include "launcher/postmortem/exit_classification.hpp"
#include "launcher/slurm/allocation.hpp"
#include "launcher/supervise/autopsy_step.hpp"
#include "launcher/supervise/liveness.hpp"
#include "launcher/supervise/saving/save_request.hpp"
#include "launcher/supervise/signals.hpp"
#include "launcher/supervise/supervised_run.hpp"
#include "runtime/rank/run_ownership.hpp"
#include "support/awake_clock.hpp"

namespace dllaunch {

/// When the allocation ends.
class AllocationEnd {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// An allocation without an end.
  AllocationEnd() = default;
  explicit AllocationEnd(std::optional<Time> at) : at_(at) {}
  AllocationEnd(const JobAllocation& allocation, double unix_now_s);

  /// Returns the end on this process's clock; nullopt: there is none, or the clock is not
  /// plausible.
  std::optional<Time> at() const { return at_; }
  std::optional<double> seconds_left() const;
  /// Asks Slurm again: the time limit may have been changed.
  void ask_again(System& system, const JobAllocation& allocation);

 private:
  std::optional<Time> at_;
  std::optional<double> known_s_;  // the same, on Slurm's clock
};

/// Whether a signal is Slurm's time-limit warning. If the job file uses a signal that also means
/// "stop", the clock decides: Slurm's warning comes up to a minute early.
bool is_warning(int signal, const SupervisedRun& run, const AllocationEnd& end);

/// How long an attempt bears what is not its ranks' doing.
struct AttemptPatience {
  std::chrono::milliseconds start{10'000};   // with Slurm, before its nodes are asked
  std::chrono::milliseconds node{7'000};     // that does not answer
  std::chrono::milliseconds daemon{30'000};  // slurmd, of a node that answers
  std::chrono::milliseconds busy_nodes{120'000};
  std::chrono::milliseconds look{5'000};  // from one look at silent nodes to the next
};

/// What the caller does meanwhile; either may be empty.
struct AttemptHooks {
  std::function<void()> each_turn = {};  // about once a second
  /// The attempt waits for what a user should know of; empty: no longer.
  std::function<void(const std::string&)> waits = {};
  AttemptPatience patience = {};
};

class AttemptWatch {
 public:
  using Time = std::chrono::steady_clock::time_point;

  AttemptWatch(System& system, const SupervisedRun& run, const RunOwnership& ownership,
               const SupervisorSignals& signals, AllocationEnd& allocation_end,
               AttemptHooks hooks = {});

  /// Starts the ranks and returns when they have ended. unavailable: the starter cannot be started.
  Result<StarterExit> run();

 private:
  using Clock = AwakeClock;
  using Variables = std::vector<std::pair<std::string, std::string>>;

  /// What was sent to end the ranks.
  enum class Pressed { not_yet, term, kill_here, kill_elsewhere, kill_all };

  Variables variables() const;
  void wait(const StarterProcess& starter) const;
  void wait_for_proof();
  void look_for_ranks(std::string_view output);
  void wait_for_stacks(const StarterProcess& starter);
  void hear(int signal, const StarterProcess& starter);
  bool is_early() const;
  void ask_ranks(const StarterProcess& starter, std::chrono::seconds patience);
  std::chrono::seconds patience_with_handlers() const;
  void look_at_pause(Time now);
  void look_at_ownership(Time now);
  void look_at_clock(Time now, const StarterProcess& starter);
  void look_at_liveness(Time now);
  void look_at_output(Time now, const StarterProcess& starter);
  void end_others(Time now);
  void look_at_nodes(Time now);
  void look_for_daemons(Time now);
  void look_at_start(Time now, bool answered);
  void wait_for(const std::string& what);
  void look_at_stacks(Time now);
  void look_before_ranks_give_up(Time now);
  void end_by(Time when);
  bool survivors_only() const;
  bool press(Time now, const StarterProcess& starter);

  System& system_;
  const SupervisedRun& run_;
  const RunOwnership& ownership_;
  const SupervisorSignals& signals_;
  AllocationEnd& allocation_end_;
  AttemptHooks hooks_;
  double grace_s_ = 0;

  Liveness liveness_;
  AutopsyStep autopsy_;
  bool hang_look_ = false;   // at the stacks, before ranks that hang are ended
  bool stall_look_ = false;  // at the stacks, for the stall that lasts
  bool last_look_ = false;   // at the stacks, before the time limit
  Time next_silence_look_ = {};
  double silence_to_look_s_ = 0;  // of a command: when its stacks are read next
  StarterExit end_;
  SaveRequest request_;
  bool passed_on_ = false;  // to the ranks, that another component has ended the job
  bool warned_ = false;     // Slurm announced the time limit
  std::size_t output_seen_ = 0;
  bool rank_is_gone_ = false;   // or a node of the ranks
  bool others_end_ = false;     // got TERM for that
  std::uint64_t files_before_;  // of a command (own_files())
  Time next_node_look_;
  std::chrono::milliseconds node_look_pause_{0};
  std::string silent_nodes_ = {};  // at the last look
  std::vector<SlurmNode> daemons_ = {};
  Time next_daemon_look_ = {};
  std::optional<Time> silent_since_;
  std::string delay_ = {};  // why Slurm does not start the step yet, as srun says
  std::optional<Time> delayed_since_;
  std::string waits_for_ = {};
  Time began_at_;
  double began_s_;  // the same in Unix seconds
  Time ownership_seen_at_;
  Clock::duration paused_ = Clock::paused();  // that is accounted for
  std::optional<Time> end_at_;                // when the next is sent
  Pressed pressed_ = Pressed::not_yet;
  std::vector<std::string> steps_ = {};      // steps of the ranks when that began
  std::optional<OwnedProcess> killer_ = {};  // of ranks on other nodes
};

}  // namespace dllaunch
