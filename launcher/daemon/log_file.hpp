// A log of bounded size.
#pragma once

#include <cstdint>
#include <string>

namespace dllaunch {

constexpr std::int64_t most_log_file_bytes = 1 << 20;

/// Standard error goes to `path`: where that has grown too long it is kept once more as PATH.1 and
/// begun anew. Returns whether it was. What standard error is otherwise (a terminal, the journal)
/// stays as it is.
bool turn_over(const std::string& path, std::int64_t most_bytes = most_log_file_bytes);

}  // namespace dllaunch
