// Where each rank's time went: RUN/ranks.csv, which the trainer writes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

/// Columns of ranks.csv after epoch, rank and host; seconds in an epoch.
inline constexpr std::array<std::string_view, 8> rank_parts = {
    "data", "forward", "backward", "update", "between", "communication", "waiting", "delayed"};

struct RankTimes {
  struct Rank {
    int rank = 0;
    std::string host = {};  // on which it ran last
    std::array<double, rank_parts.size()> mean =
        {};  // per epoch, without the first if it has others
  };
  std::vector<Rank> ranks = {};                   // by rank
  std::vector<std::int64_t> epochs = {};          // in order
  std::vector<std::vector<double>> delayed = {};  // of each rank, in each epoch; NaN: unknown
};

/// Rows of the same epoch and rank count once: the last one does. Anything else in the file is
/// skipped, as are ranks from 1,024 on, rows after the first million, and all but the newest 4,096
/// epochs. Empty without a file.
RankTimes read_rank_times(const std::string& path);

}  // namespace dllaunch
