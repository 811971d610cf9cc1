// Moments as people write them, and as programs write them at the beginning of a line.
#pragma once

#include <optional>
#include <string_view>

namespace dllaunch {

/// Unix seconds of "90s", "10m", "2h", "1d" before `now_s`, of "08:30" today, or of
/// "2026-11-24", "2026-11-24 08:30", "2026-11-24T08:30:00Z". Local time unless it says otherwise.
std::optional<double> moment_in(std::string_view text, double now_s);

/// The date and time that a line begins with, "[2026-11-24 08:30:00,123] text"; nullopt: none.
std::optional<double> leading_moment(std::string_view line);

}  // namespace dllaunch
