#include "launcher/run/attempt.hpp"

#include <fmt/core.h>

#include "launcher/base/exit_code.hpp"

namespace dllaunch {
std::string_view to_string(Cause cause) {
  return cause_names[static_cast<std::size_t>(cause)];
}

std::string describe(const Attempt& attempt) {
  switch (attempt.cause) {
    case Cause::completed:
      return "completed";
    case Cause::cancelled:
      return attempt.detail.empty() ? "asked to stop" : attempt.detail;
    case Cause::superseded:
      return "another copy of this run has taken over";
    case Cause::time_limit:
      return attempt.detail.empty() ? "ended before its time limit" : attempt.detail;
    case Cause::preempted:
      return "was preempted by another job";
    case Cause::requeued:
      return attempt.detail.empty()
                 ? "requeued by scontrol"
                 : fmt::format("lost node {}; Slurm requeued the job", attempt.detail);
    case Cause::lost_node:
      return attempt.detail.empty() ? "lost a node" : "lost node " + attempt.detail;
    case Cause::stalled:
    case Cause::storage:
    case Cause::corrupted:
      return attempt.detail;
    case Cause::unproven:
      return attempt.detail.empty() ? "the ranks exited with code 0 before the work was done"
                                    : attempt.detail;
    case Cause::cut_short:
      return attempt.detail.empty() ? "its supervisor was killed" : attempt.detail;
    case Cause::not_started:
      if (attempt.detail.empty())
        return "the ranks cannot be started: Slurm's controller does not answer";
      if (is_delay(attempt)) return attempt.detail;
      return fmt::format("the ranks cannot be started: node {} does not answer", attempt.detail);
    case Cause::failed:
      break;
  }
  if (!attempt.detail.empty()) return attempt.detail;
  const bool named = attempt.dead.signal != 0 || attempt.dead.exit_code != 0;
  if (named) return describe(attempt.dead);
  return fmt::format("the ranks exited with code {}", attempt.exit_code);
}

/// The names of nodes have no blanks.
bool is_delay(const Attempt& attempt) {
  return attempt.cause == Cause::not_started && attempt.detail.find(' ') != std::string::npos;
}

bool is_final(int code) {
  return code == exit_code::do_not_requeue || code == exit_code::bad_request;
}

std::string_view to_string(Next next) {
  return next_names[static_cast<std::size_t>(next)];
}

}  // namespace dllaunch
