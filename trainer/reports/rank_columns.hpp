// What is recorded of each rank's epoch: in the `ranks` event and in ranks.csv.
#pragma once

#include <array>
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
    {"waiting", [](const RankSeconds& rank) { return rank.waiting; }},
    {"delayed", [](const RankSeconds& rank) { return rank.delayed; }},
}};

/// A row of ranks.csv per rank: "EPOCH,RANK,HOST,..." with seconds in microseconds' precision.
/// Empty beyond 1,024 ranks, where the file would outgrow the rest of the run's reports.
std::string rank_rows(std::int64_t epoch, const EpochRanks& ranks);

/// The columns of ranks.csv after the epoch.
std::vector<std::string_view> rank_csv_columns();

}  // namespace dllaunch
