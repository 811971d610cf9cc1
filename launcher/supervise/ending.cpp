#include "launcher/supervise/ending.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "launcher/verb.hpp"

namespace dllaunch {
namespace {

bool says(std::string_view words, std::string_view what) {
  return words.find(what) != std::string_view::npos;
}

bool tells_of_memory(std::string_view words) {
  constexpr std::array<std::string_view, 4> signs = {"exceeded memory limit", "oom-kill",
                                                     "oom_kill", "Out Of Memory"};
  return std::any_of(signs.begin(), signs.end(),
                     [&](std::string_view sign) { return says(words, sign); });
}

bool lost_a_node(std::string_view words) {
  return says(words, "Node failure on ") || says(words, "DUE TO NODE FAILURE");
}

/// srun needs the controller to start a step, not to watch it.
bool never_began(std::string_view words) {
  const bool silent = says(words, "Unable to contact slurm controller");
  return silent && (says(words, "Unable to confirm allocation for job") ||
                    says(words, "Unable to create step for job"));
}

/// Slurm says why it ends a job, but for scancel.
Cause cause_of(const StarterEnd& end) {
  if (end.superseded) return Cause::superseded;
  // Slurm 22.05's srun has returned 0 after "Node failure on n3".
  const bool all_well = end.code == 0 && !lost_a_node(end.words);
  if (end.trains ? end.code == 0 && end.training_end == "completed" : all_well)
    return Cause::completed;
  if (says(end.words, "DUE TO PREEMPTION")) return Cause::preempted;
  if (says(end.words, "DUE TO JOB REQUEUE")) return Cause::requeued;
  if (says(end.words, "DUE TO TIME LIMIT")) return Cause::time_limit;
  if (lost_a_node(end.words)) return Cause::lost_node;
  if (!end.stall.empty()) return Cause::stalled;
  // A trainer that fails with an error of its own just then has failed, and some codes mean what
  // they say at any time.
  const bool saved = end.training_end == "cancelled" || end.code > 128;
  const bool final = end.code == exit_code::do_not_requeue || end.code == exit_code::bad_request;
  if (end.time_is_short && !final && (saved || !end.trains)) return Cause::time_limit;
  if (end.told_to_end) return Cause::cancelled;
  if (end.code != 0 && never_began(end.words)) return Cause::not_started;
  if (end.code == 0 && end.training_end == "cancelled") return Cause::cancelled;
  return end.code == 0 ? Cause::unproven : Cause::failed;
}

DeadRank dead_in(const StarterEnd& end) {
  auto dead = dead_rank_from_srun(end.words);
  if (!dead) dead = dead_rank_from_mpirun(end.words);
  if (!dead) return {};
  if (dead->signal == 9 && tells_of_memory(end.words)) dead->out_of_memory = true;
  return *std::move(dead);
}

}  // namespace

std::string lost_node_in(std::string_view words) {
  constexpr std::string_view mark = "Node failure on ";
  const auto at = words.find(mark);
  if (at == std::string_view::npos) return "";
  const auto rest = words.substr(at + mark.size());
  return std::string(rest.substr(0, rest.find_first_of(" \r\n")));
}

Attempt judge_end(const StarterEnd& end) {
  Attempt attempt;
  attempt.cause = cause_of(end);
  attempt.exit_code = end.code;
  if (attempt.cause == Cause::failed) attempt.dead = dead_in(end);
  if (attempt.cause == Cause::lost_node) attempt.words = lost_node_in(end.words);
  if (attempt.cause == Cause::stalled) attempt.words = end.stall;
  if (attempt.cause == Cause::unproven)
    attempt.words =
        end.trains ? "the ranks left with code 0, and the training has not said that it is complete"
                   : "";
  return attempt;
}

}  // namespace dllaunch
