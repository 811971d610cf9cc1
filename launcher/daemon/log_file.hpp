// A log of bounded size.
#pragma once

#include <cstdint>
#include <string>

namespace dllaunch {

constexpr std::int64_t most_log_file_bytes = 1 << 20;

/// Redirects standard error to `path`. A log that is too long is renamed to PATH.1 and started
/// anew; returns whether it was. Any other standard error (a terminal, the journal) is left as it
/// is.
bool turn_over(const std::string& path, std::int64_t most_bytes = most_log_file_bytes);

}  // namespace dllaunch
