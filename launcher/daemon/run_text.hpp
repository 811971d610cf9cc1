// Pieces of a run's files for remote readers: logs and events.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/run/run_dir.hpp"
#include "support/result.hpp"

namespace dllaunch {

constexpr std::uint64_t most_text_bytes = 1 << 20;

struct RunText {
  std::string text;
  std::uint64_t from = 0;   // offset in the file
  std::uint64_t bytes = 0;  // size of the whole file
};

/// Returns the names of the run's logs: those in out/ and the batch script's.
std::vector<std::string> log_names(const RunDir& dir);

/// Returns part of a log in log_names(); a name is never treated as a path. A negative `from`
/// counts from the end. At most `limit` bytes, and most_text_bytes. bad_request: no such log.
/// unavailable: unreadable, or not a regular file.
Result<RunText> read_log(const RunDir& dir, const std::string& name, std::int64_t from,
                         std::uint64_t limit);

/// Returns whole lines of events.jsonl.
Result<RunText> read_events(const RunDir& dir, std::int64_t from, std::uint64_t limit);

}  // namespace dllaunch
