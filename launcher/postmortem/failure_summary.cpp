#include "launcher/postmortem/failure_summary.hpp"

#include <fmt/format.h>

#include <utility>

#include "launcher/autopsy/stored_stacks.hpp"
#include "launcher/base/shown_line.hpp"
#include "launcher/base/utf8.hpp"
#include "launcher/run/first_error.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/run/rank_records.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_lines = 12;
constexpr std::size_t most_bytes = 65536;

}  // namespace

bool add_failure_summary(const RunDir& run, const DeadRank& dead, double since_s,
                         const StarterOutput& starter, Outcome& outcome) {
  const auto error = first_error(run, dead, since_s);
  if (error) {
    if (outcome.first_error.empty()) outcome.first_error = describe(*error);
    if (outcome.advice.empty()) outcome.advice = advice_for(error->line);
  }
  if (outcome.advice.empty()) outcome.advice = advice_for(dead);
  // A rank killed by a signal did not write the error: its last lines show where it was.
  auto excerpt =
      error && dead.signal == 0
          ? LogExcerpt{error->log, log_excerpt(file_end(error->log, most_bytes), most_lines)}
          : excerpt_of(run, dead, most_lines);
  const bool no_rank = dead.rank < 0 && !error && !starter.text.empty();
  if (no_rank || excerpt.lines.empty())
    excerpt = {starter.path, log_excerpt(starter.text, most_lines)};
  outcome.log = std::move(excerpt.path);
  outcome.excerpt = std::move(excerpt.lines);
  return error.has_value();
}

void add_stacks(const RunDir& run, double since_s, Outcome& outcome) {
  const std::string longer = "if the ranks only need longer, raise runtime.stall_abort_seconds";
  const auto of_attempt = [since_s](const auto& of_kind) {
    return [=](const StoredStacks& one) { return one.time_s >= since_s - 1 && of_kind(one.kind); };
  };
  auto stacks = newest_stacks(run.path, of_attempt(is_of_hang));
  // The ranks may have been too ill to be read again. Those of a silence stood still.
  if (!stacks)
    stacks = newest_stacks(run.path,
                           of_attempt([](StacksKind kind) { return kind == StacksKind::silence; }));
  if (!stacks) {
    if (outcome.advice.empty()) outcome.advice = longer;
    return;
  }
  if (!stacks->sentence.empty()) outcome.first_error = shown_line(stacks->sentence);
  outcome.advice = fmt::format("{}/autopsy/{}.txt has the stacks of all ranks; {}", run.path,
                               stacks->name, longer);
}

std::string words_of_traceback(const RunDir& run, double since_s) {
  const auto last = traceback_at_end(run, since_s);
  return last ? fmt::format("a log ends with a traceback: {}", describe(*last)) : "";
}

void add_who_left(const RunDir& run, double since_s, Outcome& outcome) {
  if (outcome.status == RunStatus::completed) return;
  const auto words = words_of_who_left_early(ranks_of_start(run, 0, since_s));
  if (!words.empty()) outcome.reason += "; " + words;
}

void add_stall(const RunDir& run, const RunTotals& totals, Outcome& outcome) {
  const auto& stall = totals.stall();
  if (!stall || outcome.status != RunStatus::failed || stall->line.empty()) return;
  constexpr std::size_t most_shown = 1000;
  const std::string line(first_bytes(shown_line(stall->line), most_shown));
  if (stall->state == "gave up") {
    // Who gave up only tells of the ranks that were late.
    const auto late = words_of_late_ranks(run, *stall);
    const bool said =
        outcome.reason.starts_with(' ') || outcome.reason.find(late) != std::string::npos;
    if (!said) outcome.reason.insert(outcome.reason.starts_with(": ") ? 2 : 0, late + "; ");
    outcome.first_error = line;
    outcome.advice =
        "see what the ranks it names wait for; if they only need longer, raise "
        "runtime.stall_abort_seconds";
  } else if (outcome.first_error.empty()) {
    outcome.first_error = line;
  }
}

}  // namespace dllaunch
