#include "trainer/reports/rank_columns.hpp"

#include <cstddef>
#include <iterator>

#include <fmt/format.h>

#include "trainer/reports/csv.hpp"

namespace dllaunch {

std::string rank_rows(std::int64_t epoch, const EpochRanks& ranks) {
  if (ranks.ranks.size() > most_ranks_in_rows) return "";
  std::string rows;
  for (std::size_t rank = 0; rank < ranks.ranks.size(); ++rank) {
    fmt::format_to(std::back_inserter(rows), "{},{},{}", epoch, rank,
                   csv_field(std::string_view(ranks.hosts[rank])));
    for (const RankColumn& column : rank_columns) {
      fmt::format_to(std::back_inserter(rows), ",{:.6f}", column.of(ranks.ranks[rank]));
    }
    rows += '\n';
  }
  return rows;
}

std::vector<std::string_view> rank_csv_columns() {
  std::vector<std::string_view> columns = {"rank", "host"};
  for (const RankColumn& column : rank_columns) columns.push_back(column.name);
  return columns;
}

}  // namespace dllaunch
