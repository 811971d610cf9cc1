// Spans of time as people write them: "1d12h", "90s".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dllaunch {

/// What seconds_in() takes, as a pattern of a schema.
extern const char* const time_span_pattern;

/// Seconds of numbers with the units d, h, m, s (and min), such as "90s", "1.5h", "14d" or "1d
/// 12h". nullopt: another text, or more than 1,000,000 days.
std::optional<double> seconds_in(std::string_view text);

/// At most two units: "1.5 s", "40 s", "12 min", "1 h 43 min", "14 d 2 h".
std::string time_span(double seconds);

}  // namespace dllaunch
