// Formats numbers for people: durations, moments and rates.
// Not for JSON or CSV, which keep full precision.
#pragma once

#include <string>

namespace dllaunch {

/// "0:07", "12:30", "1:02:03".
std::string clock_time(double seconds);
/// "10:03:04" for "%H:%M:%S", as strftime, in local time.
std::string clock_at(double unix_s, const char* form);
/// "12,345"; one decimal below 100.
std::string rate(double per_second);

}  // namespace dllaunch
