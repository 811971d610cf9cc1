// The kinds of lines of a run's supervisor.jsonl: a table for `dllaunch help events`.
#pragma once

#include <span>

#include "runtime/rank/run_events.hpp"

namespace dllaunch {

std::span<const EventKind> journal_events();

/// What every line has besides.
std::span<const EventField> fields_of_all_journal_events();

}  // namespace dllaunch
