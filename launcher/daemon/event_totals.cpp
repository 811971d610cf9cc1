#include "launcher/daemon/event_totals.hpp"

#include <algorithm>

#include "launcher/run/events.hpp"

namespace dllaunch {

std::optional<RunTotals> EventTotals::of(const StoredRun& run) {
  const auto path = run.dir.events();
  const std::lock_guard guard(mutex_);
  const auto known = std::ranges::find_if(
      kept_, [&](const Kept& one) { return one.path == path && one.began_at_s == run.began_at_s; });
  if (known != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, known);
  } else {
    kept_.push_front({.path = path, .began_at_s = run.began_at_s, .lines = LineTail(path)});
    if (kept_.size() > most_runs) kept_.pop_back();
  }
  auto& [name, began_at_s, lines, totals] = kept_.front();
  for (const auto& line : lines.read(most_bytes)) {
    const auto event = parse_event(line);
    if (!event) continue;
    // As in read_totals(), summary.hpp.
    if (time_of(*event) >= began_at_s) {
      totals.take(*event);
    } else {
      totals.recall(*event);
    }
  }
  return lines.behind() ? std::nullopt : std::optional(totals);
}

}  // namespace dllaunch
