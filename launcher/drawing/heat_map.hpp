// Draws a table of numbers as colours, as SVG.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dllaunch {

struct HeatMap {
  std::string title = {};
  std::string unit = {};          // "s", "%"
  std::string row_title = {};     // "rank"
  std::string column_title = {};  // "epoch"
  std::vector<std::string> rows = {};
  std::vector<std::string> columns = {};
  std::vector<double> values = {};       // row by row; NaN: unknown
  std::vector<std::size_t> groups = {};  // rows that begin a group, such as a node
};

/// An <svg> of class "heat" with a scale from 0 to the largest value, in eight steps. Beyond 128
/// rows or columns neighbours share a cell, which shows the largest of them.
std::string draw(const HeatMap& map);

/// Its numbers: at most `most` rows and columns, evenly spaced, and a line that says so.
std::string numbers_of(const HeatMap& map, std::size_t most = 128);

}  // namespace dllaunch
