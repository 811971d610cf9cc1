// Times and amounts of memory as people write them, in Slurm's form.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dllaunch {

/// What these take, as patterns of a schema.
extern const char* const short_time_pattern;
extern const char* const memory_pattern;
extern const char* const node_range_pattern;  // "2-4"
/// The same without 0, which for Slurm is a whole node's.
extern const char* const some_memory_pattern;

/// "02:00:00" for "2h", "1-12:00:00" for "1d12h": days, hours, minutes and seconds, each at most
/// once. nullopt: another text.
std::optional<std::string> time_of_short(std::string_view text);

/// "64G" for "64GB", "64 GiB" and "64g": Slurm counts in 1024. nullopt: another text, and one
/// without a unit, which Slurm would read as megabytes.
std::optional<std::string> memory_of_short(std::string_view text);
/// 65536 of "64G".
double memory_mib(std::string_view amount);

}  // namespace dllaunch
