// RUN/memory.csv: the most memory of each rank, from the process that waited for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

/// A rank that ended.
struct RankMemory {
  double time = 0;  // Unix seconds
  int rank = 0;
  std::string host = {};
  std::int64_t peak_bytes = 0;  // ru_maxrss: of the rank or a process that it waited for
};

std::string memory_file(const std::string& run_dir);

/// A row each; with the header, where the file does not exist yet. Best effort: a run does not fail
/// for its books.
void append_memory(const std::string& run_dir, const std::vector<RankMemory>& ranks);

/// By rank, the most of all rows since then; other lines are skipped. Empty: none.
std::vector<std::optional<std::int64_t>> peaks_in(std::string_view text, double since_s);

}  // namespace dllaunch
