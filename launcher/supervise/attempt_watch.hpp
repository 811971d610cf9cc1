// One start of the ranks, from its beginning to its end, however it ends.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/run_dir.hpp"
#include "launcher/supervise/allocation.hpp"
#include "launcher/supervise/ending.hpp"
#include "launcher/supervise/policy.hpp"
#include "launcher/supervise/signals.hpp"
#include "launcher/supervise/signs_of_life.hpp"
#include "launcher/supervise/starter_process.hpp"
#include "launcher/world.hpp"
#include "runtime/lease.hpp"

namespace dllaunch {

/// What a supervisor keeps from one attempt to the next.
struct SupervisedRun {
  RunDir dir = {};
  RecoverySettings recovery = {};
  int signal = 0;                       // "save now"
  std::vector<std::string> start = {};  // srun or mpirun, its options and the ranks' command
  std::string program = {};             // start[0], absolute
  JobAllocation allocation = {};
};

/// Until when the allocation lasts, by this process's clock; nothing: for ever, or the clock is not
/// to be believed.
std::optional<std::chrono::steady_clock::time_point> end_of_allocation(
    const JobAllocation& allocation, double unix_now_s);

class AttemptWatch {
 public:
  using Time = std::chrono::steady_clock::time_point;

  AttemptWatch(World& world, const SupervisedRun& run, const Lease& lease,
               const SupervisorSignals& signals, std::optional<Time> allocation_ends);

  /// Starts the ranks and returns when they have ended. unavailable: the starter cannot be started.
  Result<StarterEnd> run();

 private:
  using Clock = std::chrono::steady_clock;
  using Variables = std::vector<std::pair<std::string, std::string>>;

  Variables variables() const;
  void wait(const StarterProcess& starter) const;
  void wait_for_proof();
  void hear(int signal, const StarterProcess& starter);
  bool is_warning(int signal) const;
  void ask_ranks(const StarterProcess& starter);
  void look_at_lease(Time now);
  double more_seconds();
  void look_at_clock(Time now, const StarterProcess& starter);
  void look_at_life(Time now);
  void end_by(Time when);
  bool press(Time now, const StarterProcess& starter);

  World& world_;
  const SupervisedRun& run_;
  const Lease& lease_;
  const SupervisorSignals& signals_;
  std::optional<Time> allocation_ends_;
  std::optional<double> known_end_s_;  // the same by Slurm's clock
  double grace_s_ = 0;

  SignsOfLife life_;
  StarterEnd end_;
  bool asked_ = false;
  Time lease_seen_at_;
  std::optional<Time> end_at_;  // when TERM goes to the starter, KILL some seconds later
  int pressed_ = 0;             // 1: TERM was sent, 2: KILL
};

}  // namespace dllaunch
