#include "launcher/accounting/rank_memory.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "launcher/base/split.hpp"
#include "launcher/os/atomic_file.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {

std::string memory_file(const std::string& run_dir) {
  return run_dir + "/memory.csv";
}

void append_memory(const std::string& run_dir, const std::vector<RankMemory>& ranks) {
  const auto path = memory_file(run_dir);
  std::error_code error;
  std::string text = std::filesystem::exists(path, error) ? "" : "time,rank,host,peak_bytes\n";
  for (const auto& [time, rank, host, peak_bytes] : ranks)
    text += fmt::format("{:.3f},{},{},{}\n", time, rank, host, peak_bytes);
  const auto ignored = append_lines(path, text);
}

std::vector<std::optional<std::int64_t>> peaks_in(std::string_view text, double since_s) {
  constexpr int most_ranks = 1024;
  std::vector<std::optional<std::int64_t>> peaks;
  for (const auto line : split_lines(text)) {
    const auto fields = split_at(line, ',');
    if (fields.size() != 4) continue;
    const auto time = parse_number<double>(fields[0]);
    const auto rank = parse_number<int>(fields[1]);
    const auto bytes = parse_number<std::int64_t>(fields[3]);
    if (!time || !rank || !bytes || *bytes <= 0) continue;
    if (*time < since_s || *rank < 0 || *rank >= most_ranks) continue;
    const auto index = static_cast<std::size_t>(*rank);
    if (peaks.size() <= index) peaks.resize(index + 1);
    peaks[index] = std::max(peaks[index].value_or(0), *bytes);
  }
  return peaks;
}

}  // namespace dllaunch
