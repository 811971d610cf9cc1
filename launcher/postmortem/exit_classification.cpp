#include "launcher/postmortem/exit_classification.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <initializer_list>
#include <optional>
#include <utility>

#include "launcher/base/exit_code.hpp"
#include "launcher/base/split.hpp"

namespace dllaunch {
namespace {

bool says(std::string_view output, std::string_view what) {
  return output.find(what) != std::string_view::npos;
}

/// Returns the first line that has all of these; empty: none.
std::string line_with(std::string_view output, std::initializer_list<std::string_view> words) {
  for (const auto line : split_lines(output))
    if (std::ranges::all_of(words, [&](auto word) { return says(line, word); }))
      return std::string(line);
  return "";
}

bool lost_a_node(std::string_view output) {
  return says(output, "Node failure on ") || says(output, "DUE TO NODE FAILURE");
}

/// srun needs the controller to start a step, not to watch it.
bool controller_is_away(std::string_view output) {
  const bool silent = says(output, "Unable to contact slurm controller");
  return silent && (says(output, "Unable to confirm allocation for job") ||
                    says(output, "Unable to create step for job"));
}

/// Returns "n3" for "srun: error: Task launch for StepId=86.1 failed on node n3: Communication
/// connection failure", a node that Slurm has not marked down yet. Empty: all ranks were started.
std::string unreachable_node(std::string_view output) {
  constexpr std::array<std::string_view, 4> signs = {"Communication connection failure",
                                                     "Socket timed out", "Unable to contact",
                                                     "Zero Bytes were transmitted or received"};
  constexpr std::string_view mark = " failed on node ";
  const auto begin = output.find("Task launch for ");
  if (begin == std::string_view::npos) return "";
  const auto line = output.substr(begin, output.substr(begin).find('\n'));
  const auto at = line.find(mark);
  const bool network = std::any_of(signs.begin(), signs.end(),
                                   [&](std::string_view sign) { return says(line, sign); });
  if (at == std::string_view::npos || !network) return "";
  const auto name = line.substr(at + mark.size());
  return std::string(name.substr(0, name.find_first_of(": \r")));
}

/// Where srun last said so: "Job 17 step creation temporarily disabled, retrying (Requested nodes
/// are busy)", "Job 17 step creation still disabled, retrying (...)".
constexpr std::string_view delayed_sign = "disabled, retrying";

/// Slurm states why it ends a job, except for scancel.
std::optional<Cause> slurms_reason(std::string_view output) {
  if (says(output, "DUE TO PREEMPTION")) return Cause::preempted;
  if (says(output, "DUE TO JOB REQUEUE")) return Cause::requeued;
  if (says(output, "DUE TO TIME LIMIT")) return Cause::time_limit;
  // srun of Slurm 22.05 has returned 0 after "Node failure on n3".
  if (lost_a_node(output)) return Cause::lost_node;
  return std::nullopt;
}

/// `output`: Slurm's own lines.
Cause cause_of(const StarterExit& end, std::string_view output) {
  if (end.superseded) return Cause::superseded;
  if (end.trains && end.code == 0 && end.training_end == "completed") return Cause::completed;
  // Ranks that were told to end may exit with 0: that does not prove completion.
  if (const auto reason = slurms_reason(output)) return *reason;
  if (end.told_to_end) return end.stall.empty() ? Cause::cancelled : Cause::stalled;
  if (!end.lost_nodes.empty()) return Cause::lost_node;
  if (!end.not_started.empty()) return Cause::not_started;
  if (!end.stall.empty()) return Cause::stalled;
  if (!end.unbegun.empty()) return Cause::failed;
  if (!end.trains && end.code == 0) return Cause::completed;
  // A trainer that fails with its own error at that moment has failed, and permanent codes keep
  // their meaning.
  const bool saved = end.training_end == "cancelled" || end.code > 128;
  if (end.time_is_short && !is_final(end.code) && (saved || !end.trains)) return Cause::time_limit;
  const bool began = !controller_is_away(output) && unreachable_node(output).empty();
  if (end.code != 0 && !began) return Cause::not_started;
  if (end.code == 0 && end.training_end == "cancelled") return Cause::cancelled;
  return end.code == 0 ? Cause::unproven : Cause::failed;
}

/// A trainer that lost a peer exits with an error, and srun may name it before the one that was
/// killed. What was killed later, for want of a peer, is not in `text`.
std::optional<DeadRank> dead_trainer(std::string_view text) {
  auto first = dead_rank_from_srun(text);
  if (!first || first->exit_code == 0 || is_final(first->exit_code)) return first;
  auto killed = killed_rank_from_srun(text);
  return killed ? killed : first;
}

DeadRank dead_in(const StarterExit& end) {
  const auto& text = end.before_kill.empty() ? end.output : end.before_kill;
  auto dead = end.trains ? dead_trainer(text) : dead_rank_from_srun(text);
  if (!dead) dead = dead_rank_from_mpirun(text);
  if (!dead) return {};
  if (dead->signal == 9 && tells_of_memory(end.output)) dead->out_of_memory = true;
  return *std::move(dead);
}

/// Adds how a rank ended that was asked to save, if it was not by saving: of what asked it to save,
/// or by an error of its own.
void add_unsaved(const StarterExit& end, Attempt& attempt) {
  const bool may_save = attempt.cause == Cause::time_limit || attempt.cause == Cause::cancelled;
  if (!may_save || end.trains || end.save_signal == 0) return;
  const auto dead = dead_in(end);
  const bool by_request = dead.signal == end.save_signal;
  const bool saved = dead.exit_code == exit_code::start_again;
  if (saved || (dead.signal == 0 && dead.exit_code == 0)) return;
  if (attempt.cause == Cause::cancelled || !by_request) attempt.detail = describe(attempt) + "; ";
  attempt.detail += by_request ? describe_unsaved(dead) : describe(dead);
  if (!by_request) return;
  attempt.dead = dead;
  attempt.new_checkpoint = end.wrote_files;
}

}  // namespace

bool tells_of_memory(std::string_view output) {
  constexpr std::array<std::string_view, 4> signs = {"exceeded memory limit", "oom-kill",
                                                     "oom_kill", "Out Of Memory"};
  return std::any_of(signs.begin(), signs.end(),
                     [&](std::string_view sign) { return says(output, sign); });
}

std::string lost_node_in(std::string_view output) {
  constexpr std::string_view mark = "Node failure on ";
  const auto at = output.find(mark);
  if (at == std::string_view::npos) return "";
  const auto rest = output.substr(at + mark.size());
  return std::string(rest.substr(0, rest.find_first_of(" \r\n")));
}

std::string launch_failure_in(std::string_view output) {
  return line_with(output, {"srun: error: task", " launch failed: "});
}

std::string first_slurm_error(std::string_view output) {
  return line_with(slurm_output(output), {": error: "});
}

std::string delay_of_start(std::string_view output) {
  const auto at = output.rfind(delayed_sign);
  const auto began = output.rfind("Step created for ");
  if (at == std::string_view::npos || (began != std::string_view::npos && began > at)) return "";
  auto rest = output.substr(at + delayed_sign.size());
  rest = rest.substr(0, rest.find_first_of("\r\n"));
  const auto open = rest.find('(');
  if (open == std::string_view::npos) return "no reason given";
  return std::string(rest.substr(open + 1, rest.rfind(')') - open - 1));
}

std::string slurm_output(std::string_view output) {
  std::string own;
  while (!output.empty()) {
    const auto line = output.substr(0, std::min(output.find('\n'), output.size() - 1) + 1);
    output.remove_prefix(line.size());
    if (line.starts_with("srun: ") || line.starts_with("slurmstepd")) own += line;
  }
  return own;
}

Attempt classify_exit(const StarterExit& end) {
  const auto output = slurm_output(end.output);
  Attempt attempt;
  attempt.cause = cause_of(end, output);
  attempt.exit_code = end.code;
  attempt.dead_seen_s = end.dead_seen_s;
  if (attempt.cause == Cause::failed && end.unbegun.empty()) attempt.dead = dead_in(end);
  if (attempt.cause == Cause::failed) attempt.detail = end.unbegun;
  // Who gave up only tells of it.
  if (attempt.cause == Cause::failed && !end.late.empty() && attempt.dead.signal == 0) {
    attempt.detail = end.late + "; " + describe(attempt);
    attempt.dead = {};
  }
  if (attempt.cause == Cause::lost_node) attempt.detail = lost_node_in(output);
  if (attempt.cause == Cause::lost_node && attempt.detail.empty()) attempt.detail = end.lost_nodes;
  if (attempt.cause == Cause::not_started)
    attempt.detail = end.not_started.empty() ? unreachable_node(output) : end.not_started;
  if (attempt.cause == Cause::stalled) attempt.detail = end.stall;
  add_unsaved(end, attempt);
  // Healthy ranks may be silent, but they exit or print something when asked to save.
  const bool ignored = end.code == 128 + SIGTERM || end.code == 128 + SIGKILL;
  attempt.idle = attempt.cause == Cause::time_limit && !end.trains && ignored &&
                 end.silent_s >= end.seconds / 2;
  if (attempt.cause == Cause::unproven)
    attempt.detail =
        end.trains
            ? "the ranks exited with code 0, but the training has not reported that it is complete"
            : "";
  return attempt;
}

}  // namespace dllaunch
