#include "launcher/supervise/own_job.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <thread>

#include "launcher/supervise/supervisor_parent.hpp"

namespace dllaunch {
namespace {

/// Slurm ends the job while the ranks end: srun may see it before the supervisor is told to stop.
void look_at_whole_job(System& system, const JobAllocation& allocation, Attempt& attempt) {
  if (attempt.cause == Cause::time_limit) return;
  constexpr std::chrono::seconds limit(3);
  auto record = ask_of_job(system, allocation, limit);
  // The TERM that ends the job's script ends an scontrol that runs in it, too.
  if (!record) record = ask_of_job(system, allocation, limit);
  if (!record || record->restarts > allocation.restarts) return;
  if (!record->state.starts_with("COMPLETING")) return;
  if (record->reason == "TimeLimit") attempt.cause = Cause::time_limit;
  if (record->reason.empty()) attempt.cause = Cause::cancelled;
}

}  // namespace

void look_at_own_job(System& system, const JobAllocation& allocation, Attempt& attempt) {
  const bool ended = attempt.cause == Cause::failed || attempt.cause == Cause::unproven ||
                     attempt.cause == Cause::time_limit;
  if (allocation.job.empty() || !ended) return;
  if (allocation.group.empty()) return look_at_whole_job(system, allocation, attempt);
  const auto name = "its Slurm job, " + allocation.leader + "+" + allocation.group;
  constexpr int looks = 12;
  for (int i = 0; i < looks; ++i) {
    const auto record = ask_of_job(system, allocation, std::chrono::seconds(3));
    if (!record || record->restarts > allocation.restarts) return;
    const auto is = [&record](std::string_view state) { return record->state.starts_with(state); };
    if (is("TIMEOUT") || (is("COMPLETING") && record->reason == "TimeLimit")) {
      attempt.cause = Cause::time_limit;
      attempt.detail = name + ", reached its time limit";
      return;
    }
    if (is("CANCELLED")) {
      attempt.cause = Cause::cancelled;
      attempt.detail = name + ", was cancelled";
      return;
    }
    if (!is("COMPLETING")) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
  }
}

void look_who_cancelled(System& system, const JobAllocation& allocation, Attempt& attempt) {
  if (supervisor_parent_was_killed()) {
    attempt.cause = Cause::cut_short;
    attempt.detail = "the process that guards its supervisor was killed";
  }
  if (allocation.job.empty()) return;
  const auto record = ask_of_job(system, allocation, std::chrono::seconds(3));
  if (!record) return;
  if (record->restarts > allocation.restarts) attempt.cause = Cause::requeued;
  if (record->state.starts_with("PREEMPTED")) attempt.cause = Cause::preempted;
}

}  // namespace dllaunch
