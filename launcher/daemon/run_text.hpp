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

/// Names of the run's logs: those in out/, and what the batch script wrote beside it.
std::vector<std::string> log_names(const RunDir& dir);

/// Part of one of log_names(): a name is never taken for a path. `from` below 0 counts from the
/// end. At most `limit` bytes, and most_text_bytes. bad_request: there is no such log. unavailable:
/// it cannot be read, or is no plain file.
Result<RunText> read_log(const RunDir& dir, const std::string& name, std::int64_t from,
                         std::uint64_t limit);

/// Whole lines of events.jsonl.
Result<RunText> read_events(const RunDir& dir, std::int64_t from, std::uint64_t limit);

}  // namespace dllaunch
