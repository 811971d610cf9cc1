// Times and durations as Slurm writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dllaunch {

/// "2026-11-20T19:57:21" in this machine's time zone. nullopt: not a time.
std::optional<std::int64_t> parse_slurm_time(std::string_view text);
/// The reverse.
std::string slurm_time(double unix_s);

/// Seconds in a Slurm duration: "30" (minutes), "30:00", "1:30:00", "2-12", "2-12:30",
/// "2-12:30:00". nullopt: not a duration, which includes "UNLIMITED" and "infinite"; see
/// is_unlimited().
std::optional<std::int64_t> parse_slurm_seconds(std::string_view text);
/// The same in minutes, rounded up as Slurm does.
std::optional<int> parse_slurm_minutes(std::string_view text);
bool is_unlimited(std::string_view text);

/// Seconds that a job has run, as squeue writes them: "0:05", "2:03:04", "1-02:03:04".
std::optional<double> parse_slurm_elapsed(std::string_view text);

}  // namespace dllaunch
