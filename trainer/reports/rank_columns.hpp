// What is recorded of each rank's epoch: in the `ranks` event and in ranks.csv.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/reports/stragglers.hpp"

namespace dllaunch {

struct RankColumn {
  std::string_view name;
  double (*of)(const RankSeconds&);
};
inline constexpr std::array<RankColumn, 8> rank_columns = {{
    {"data", [](const RankSeconds& rank) { return rank.data; }},
    {"forward", [](const RankSeconds& rank) { return rank.forward; }},
    {"backward", [](const RankSeconds& rank) { return rank.backward; }},
    {"update", [](const RankSeconds& rank) { return rank.update; }},
    {"between", [](const RankSeconds& rank) { return rank.between; }},
    {"communication", [](const RankSeconds& rank) { return rank.communication; }},
    {"waiting", [](const RankSeconds& rank) { return rank.waiting + rank.pipeline; }},
    {"delayed", [](const RankSeconds& rank) { return rank.delayed; }},
}};

/// Beyond, what has a row for each rank would outgrow the rest of the run's reports.
inline constexpr std::size_t most_ranks_in_rows = 1024;

/// A row of ranks.csv per rank: "EPOCH,RANK,HOST,..." with seconds in microseconds' precision.
/// Empty beyond most_ranks_in_rows.
std::string rank_rows(std::int64_t epoch, const EpochRanks& ranks);

/// The columns of ranks.csv after the epoch.
std::vector<std::string_view> rank_csv_columns();

}  // namespace dllaunch
