#include "launcher/run/attempt.hpp"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "launcher/base/exit_code.hpp"

namespace dllaunch {
namespace {

constexpr std::array<std::pair<Cause, std::string_view>, 13> cause_words = {{
    {Cause::completed, "completed"},
    {Cause::cancelled, "cancelled"},
    {Cause::superseded, "superseded"},
    {Cause::time_limit, "time_limit"},
    {Cause::preempted, "preempted"},
    {Cause::requeued, "requeued"},
    {Cause::lost_node, "lost_node"},
    {Cause::stalled, "stalled"},
    {Cause::unproven, "unproven"},
    {Cause::failed, "failed"},
    {Cause::cut_short, "cut_short"},
    {Cause::not_started, "not_started"},
    {Cause::storage, "storage"},
}};

}  // namespace

std::string_view to_string(Cause cause) {
  return cause_words[static_cast<std::size_t>(cause)].second;
}

std::optional<Cause> cause_of_word(std::string_view word) {
  for (const auto& [cause, text] : cause_words) {
    if (text == word) return cause;
  }
  return std::nullopt;
}

std::string describe(const Attempt& attempt) {
  switch (attempt.cause) {
    case Cause::completed:
      return "completed";
    case Cause::cancelled:
      return "asked to stop";
    case Cause::superseded:
      return "another copy of this run has taken over";
    case Cause::time_limit:
      return "ended before its time limit";
    case Cause::preempted:
      return "had to make room for another job";
    case Cause::requeued:
      return "requeued by scontrol";
    case Cause::lost_node:
      return attempt.detail.empty() ? "lost a node" : "lost node " + attempt.detail;
    case Cause::stalled:
    case Cause::storage:
      return attempt.detail;
    case Cause::unproven:
      return attempt.detail.empty() ? "the ranks left with code 0 before the work was done"
                                    : attempt.detail;
    case Cause::cut_short:
      return attempt.detail.empty() ? "its supervisor was killed" : attempt.detail;
    case Cause::not_started:
      return attempt.detail.empty()
                 ? "the ranks cannot be started: Slurm's controller does not answer"
                 : fmt::format("the ranks cannot be started: node {} does not answer",
                               attempt.detail);
    case Cause::failed:
      break;
  }
  const bool named = attempt.dead.signal != 0 || attempt.dead.exit_code != 0;
  if (named) return describe(attempt.dead);
  return fmt::format("the ranks ended with code {}", attempt.exit_code);
}

bool is_final(int code) {
  return code == exit_code::do_not_requeue || code == exit_code::bad_request;
}

std::string_view to_string(Next next) {
  constexpr std::array<std::string_view, 3> names = {"restart", "requeue", "stop"};
  return names[static_cast<std::size_t>(next)];
}

}  // namespace dllaunch
