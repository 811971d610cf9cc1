#include "launcher/postmortem/failure_summary.hpp"

#include <fmt/format.h>

#include <utility>

#include "launcher/autopsy/stored_stacks.hpp"
#include "launcher/base/shown_line.hpp"
#include "launcher/base/utf8.hpp"
#include "launcher/run/first_error.hpp"
#include "launcher/run/rank_logs.hpp"

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

void add_stall(const RunTotals& totals, Outcome& outcome) {
  const auto& stall = totals.stall();
  if (!stall || outcome.status != RunStatus::failed || stall->line.empty()) return;
  constexpr std::size_t most_shown = 1000;
  const std::string line(first_bytes(shown_line(stall->line), most_shown));
  if (stall->state == "gave up") {
    outcome.first_error = line;
    outcome.advice =
        "see what the ranks it names wait for; if they only need longer, raise "
        "runtime.stall_abort_seconds";
  } else if (outcome.first_error.empty()) {
    outcome.first_error = line;
  }
}

}  // namespace dllaunch
