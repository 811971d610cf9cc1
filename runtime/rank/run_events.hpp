// The kinds of lines of a run's events.jsonl: what they are called, when they are written, what is
// in them. Ranks and the supervisor write them; `dllaunch help events` prints the table.
#pragma once

#include <span>
#include <string_view>

namespace dllaunch {

struct EventField {
  std::string_view name;
  std::string_view meaning;
};

struct EventKind {
  std::string_view name;
  std::string_view when;               // and by which program
  std::span<const EventField> fields;  // in the order of a line
};

/// What every line has besides.
std::span<const EventField> fields_of_all_events();

std::span<const EventKind> run_events();

}  // namespace dllaunch
