#include "launcher/report/rank_times.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "launcher/base/split.hpp"
#include "launcher/os/line_tail.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_rows = 1'000'000;
constexpr int most_ranks = 1024;  // as the trainer writes
constexpr std::ptrdiff_t most_epochs = 4096;
constexpr std::size_t first_part = 3;
constexpr std::size_t delayed_part = rank_parts.size() - 1;

struct Row {
  std::int64_t epoch = 0;
  int rank = 0;
  std::string host = {};
  std::array<double, rank_parts.size()> seconds = {};
};

std::optional<Row> row_in(std::string_view line) {
  const auto fields = split_at(line, ',');
  if (fields.size() != first_part + rank_parts.size()) return std::nullopt;
  const auto epoch = parse_number<std::int64_t>(fields[0]);
  const auto rank = parse_number<int>(fields[1]);
  if (!epoch || !rank || *epoch < 1 || *rank < 0 || *rank >= most_ranks) return std::nullopt;
  Row row{.epoch = *epoch, .rank = *rank, .host = std::string(fields[2])};
  for (std::size_t i = 0; i < rank_parts.size(); ++i) {
    const auto seconds = parse_number<double>(fields[first_part + i]);
    if (!seconds || !std::isfinite(*seconds)) return std::nullopt;
    row.seconds[i] = *seconds;
  }
  return row;
}

using Rows = std::map<std::pair<int, std::int64_t>, Row>;  // by rank and epoch

Rows read_rows(const std::string& path) {
  Rows rows;
  for_each_line(path, [&rows](const std::string& line) {
    auto row = row_in(line);
    if (!row || rows.size() >= most_rows) return;
    const auto key = std::pair(row->rank, row->epoch);
    rows.insert_or_assign(key, *std::move(row));
  });
  return rows;
}

}  // namespace

RankTimes read_rank_times(const std::string& path) {
  const Rows rows = read_rows(path);
  RankTimes times;
  for (const auto& [key, row] : rows) times.epochs.push_back(row.epoch);
  std::ranges::sort(times.epochs);
  times.epochs.erase(std::unique(times.epochs.begin(), times.epochs.end()), times.epochs.end());
  if (std::ssize(times.epochs) > most_epochs)
    times.epochs.erase(times.epochs.begin(), times.epochs.end() - most_epochs);
  std::int64_t counted = 0;
  for (const auto& [key, row] : rows) {
    if (row.epoch < times.epochs.front()) continue;
    if (times.ranks.empty() || times.ranks.back().rank != row.rank) {
      times.ranks.push_back({.rank = row.rank});
      times.delayed.emplace_back(times.epochs.size(), std::nan(""));
      counted = 0;
    }
    auto& rank = times.ranks.back();
    rank.host = row.host;
    const auto epoch = std::ranges::lower_bound(times.epochs, row.epoch) - times.epochs.begin();
    times.delayed.back()[static_cast<std::size_t>(epoch)] = row.seconds[delayed_part];
    // The first epoch warms up: it stands only for a rank that has no other.
    if (epoch == 0) {
      rank.mean = row.seconds;
      continue;
    }
    if (counted++ == 0) rank.mean = {};
    for (std::size_t i = 0; i < rank_parts.size(); ++i)
      rank.mean[i] += (row.seconds[i] - rank.mean[i]) / static_cast<double>(counted);
  }
  return times;
}

}  // namespace dllaunch
