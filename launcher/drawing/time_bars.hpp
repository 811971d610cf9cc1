// Draws what happened when: a bar per row, in parts, on one time axis. As SVG.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dllaunch {

struct TimePart {
  double from_s = 0;
  double to_s = 0;
  std::size_t kind = 0;  // in TimeBars::kinds
};

struct TimeRow {
  std::string label = {};
  std::string text = {};  // after the bar: what ended it
  std::vector<TimePart> parts = {};
};

struct TimeBars {
  std::string title = {};
  std::vector<std::string> kinds = {};  // of parts: "training", "lost", "down"
  std::vector<TimeRow> rows = {};
};

/// An <svg> of class "bars". The axis is in seconds, minutes or hours, from 0.
std::string draw(const TimeBars& bars);

/// Its numbers: a row per part.
std::string numbers_of(const TimeBars& bars);

}  // namespace dllaunch
