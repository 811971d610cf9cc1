#include "launcher/drawing/heat_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace dllaunch {
namespace {

using testing::HasSubstr;

HeatMap some_map(std::size_t rows, std::size_t columns) {
  HeatMap map{.title = "t", .unit = "s", .row_title = "rank", .column_title = "epoch"};
  for (std::size_t i = 0; i < rows; ++i) map.rows.push_back(std::to_string(i));
  for (std::size_t i = 0; i < columns; ++i) map.columns.push_back(std::to_string(i));
  map.values.assign(rows * columns, 1);
  return map;
}

TEST(HeatMap, HasAScaleLabelsAndGroups) {
  auto map = some_map(4, 3);
  map.values[5] = 8;
  map.values[6] = std::nan("");
  map.groups = {0, 2};
  const auto drawing = draw(map);
  for (const char* part : {">8 s</text>", ">rank</text>", ">epoch</text>", "class=\"h7\"",
                           "class=\"h1\"", "class=\"border\""})
    EXPECT_THAT(drawing, HasSubstr(part));
  EXPECT_THAT(numbers_of(map), HasSubstr("<th>0, s</th>"));
  EXPECT_EQ(draw(HeatMap{}), "");
}

TEST(HeatMap, ManyRanksShareCellsAndTheWorstIsSeen) {
  auto map = some_map(1024, 1000);
  map.values[700 * 1000 + 333] = 100;
  const auto drawing = draw(map);
  EXPECT_LT(drawing.size(), 600'000u);
  EXPECT_THAT(drawing, HasSubstr("class=\"h7\""));
}

}  // namespace
}  // namespace dllaunch
