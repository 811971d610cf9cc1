// The most memory that this process has had.
#pragma once

#include <optional>
#include <string_view>

namespace dllaunch {

/// The resident set's high-water mark in bytes, as the kernel keeps it for the program that runs
/// now; ru_maxrss would include what ran in this process before exec. nullopt: unknown.
std::optional<double> peak_memory_bytes();

/// The same of the text of /proc/PID/status.
std::optional<double> peak_memory_in(std::string_view status);

}  // namespace dllaunch
