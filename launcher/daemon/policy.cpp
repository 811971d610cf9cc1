#include "launcher/daemon/policy.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "launcher/base/exit_code.hpp"
#include "support/counted.hpp"

namespace dllaunch {
namespace {

RunAction leave(std::string reason) {
  return {RunVerdict::leave, std::move(reason)};
}

RunAction give_up(std::string reason) {
  return {RunVerdict::give_up, std::move(reason)};
}

/// Returns the action for ends that were wanted or that no retry fixes; nullopt: a retry may help.
std::optional<RunAction> final_end(const EndedJob& ended) {
  if (ended.status == RunStatus::completed || ended.completed) return leave("it is complete");
  if (!ended.slurm) return leave("it ran without Slurm");
  if (ended.cancel_wished ||
      (ended.status == RunStatus::cancelled && ended.canceller == Canceller::user))
    return leave("you cancelled it");
  if (ended.status == RunStatus::cancelled && ended.canceller == Canceller::unknown)
    return leave("it was cancelled by an unknown user");
  if (!ended.stopped.empty()) return give_up("its supervisor stopped: " + ended.stopped);
  if (ended.exit_code == exit_code::do_not_requeue)
    return give_up("it ended with exit code 93: never restart");
  if (ended.status == RunStatus::failed && ended.forgotten)
    return give_up("Slurm no longer knows how it ended; `dllaunch run` or requeue continues it");
  if (ended.status == RunStatus::failed) return give_up("its program failed, and would fail again");
  if (ended.status == RunStatus::out_of_memory)
    return give_up("it ran out of memory, and would do so again");
  if (ended.array) return give_up("a job array is not submitted again as a whole");
  return std::nullopt;
}

/// Slurm cancels a job itself where it cannot requeue it: treated as a lost node.
std::string cause_of(const EndedJob& ended) {
  return ended.status == RunStatus::cancelled ? "node_fail" : std::string(to_string(ended.status));
}

std::optional<RunAction> forbidden(const EndedJob& ended, const RecoveryWishes& wishes) {
  const auto cause = cause_of(ended);
  if (!wishes.may_start_again) return give_up("its script says --no-requeue");
  const auto& causes = wishes.requeue_on;
  if (std::find(causes.begin(), causes.end(), cause) == causes.end())
    return give_up(fmt::format("recovery.requeue_on does not list {}", cause));
  return std::nullopt;
}

std::optional<RunAction> hopeless(const EndedJob& ended, const RunPast& past, const Caps& caps) {
  const int without_progress = ended.new_checkpoint ? 0 : past.without_progress + 1;
  if (ended.status == RunStatus::timeout && !ended.new_checkpoint)
    return give_up("it reached its time limit before it saved a checkpoint, and would do so again");
  if (without_progress >= most_without_progress)
    return give_up(fmt::format("{} jobs in a row saved no new checkpoint", without_progress));
  if (ended.status == RunStatus::cancelled && past.system_cancels >= most_system_cancels)
    return give_up("the system cancelled it again: ask an administrator why");
  if (past.submissions >= caps.most_submissions)
    return give_up(fmt::format("it was submitted again {}, which is the limit",
                               counted(past.submissions, "time")));
  if (past.refusals >= most_refusals) return give_up(past.refusal);
  return std::nullopt;
}

std::string why_again(const EndedJob& ended) {
  switch (ended.status) {
    case RunStatus::timeout:
      return "it reached its time limit; it resumes from its checkpoint";
    case RunStatus::preempted:
      return "it was preempted and not requeued";
    case RunStatus::cancelled:
      return "the system cancelled it";
    default:
      return "a node failed and Slurm did not requeue it";
  }
}

}  // namespace

RunAction decide(const EndedJob& ended, const RecoveryWishes& wishes, const RunPast& past,
                 const Caps& caps) {
  if (auto action = final_end(ended)) return *std::move(action);
  if (auto action = forbidden(ended, wishes)) return *std::move(action);
  if (auto action = hopeless(ended, past, caps)) return *std::move(action);
  if (caps.jobs >= caps.most_jobs)
    return {RunVerdict::wait,
            fmt::format("{} of your jobs are in the queue, which is the limit", caps.jobs)};
  if (caps.most_gpu_hours > 0 && caps.gpu_hours >= caps.most_gpu_hours)
    return {RunVerdict::wait,
            fmt::format("your runs have used {:.1f} GPU hours in 30 days, and {:g} "
                        "is the limit",
                        caps.gpu_hours, caps.most_gpu_hours)};
  return {RunVerdict::submit, why_again(ended)};
}

std::string exclude_list(const std::string& by_user, const std::vector<std::string>& failed) {
  std::string list = by_user;
  for (const auto& node : failed) {
    // The user's list may contain the node in a range; naming it twice is harmless.
    if (("," + list + ",").find("," + node + ",") != std::string::npos) continue;
    list += (list.empty() ? "" : ",") + node;
  }
  return list;
}

}  // namespace dllaunch
