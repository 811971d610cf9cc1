#include "launcher/drawing/heat_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "launcher/base/utf8.hpp"
#include "launcher/drawing/markup.hpp"
#include "launcher/drawing/number_table.hpp"
#include "launcher/drawing/svg.hpp"
#include "launcher/drawing/ticks.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_cells = 128;  // in each direction
constexpr auto heat_colors = static_cast<std::size_t>(svg_colors);

/// Where cells stand: `rows` x `columns` of them, each of several values of the map.
struct Grid {
  std::size_t rows = 0;
  std::size_t columns = 0;
  double left = 0;
  double top = 0;
  double cell_width = 0;
  double cell_height = 0;
};

Grid grid_of(const HeatMap& map) {
  int longest = characters_in(map.row_title);
  for (const auto& row : map.rows) longest = std::max(longest, characters_in(row));
  Grid grid{.rows = std::min(map.rows.size(), most_cells),
            .columns = std::min(map.columns.size(), most_cells)};
  grid.left = 10 + svg_letter * std::min(longest, 16);
  grid.top = 2 * svg_line;
  grid.cell_width = (svg_width - 4 - grid.left) / static_cast<double>(grid.columns);
  grid.cell_height = std::clamp(256 / static_cast<double>(grid.rows), 2.5, 18.0);
  return grid;
}

/// The largest value of a cell; NaN: none is known.
double value_of(const HeatMap& map, const Grid& grid, std::size_t row, std::size_t column) {
  const auto begin = [](std::size_t cell, std::size_t cells, std::size_t all) {
    return cell * all / cells;
  };
  double largest = std::nan("");
  for (auto r = begin(row, grid.rows, map.rows.size());
       r < begin(row + 1, grid.rows, map.rows.size()); ++r) {
    for (auto c = begin(column, grid.columns, map.columns.size());
         c < begin(column + 1, grid.columns, map.columns.size()); ++c) {
      const double value = map.values[r * map.columns.size() + c];
      if (std::isfinite(value)) largest = std::isnan(largest) ? value : std::max(largest, value);
    }
  }
  return largest;
}

double largest_of(const HeatMap& map) {
  double largest = 0;
  for (const double value : map.values)
    if (std::isfinite(value)) largest = std::max(largest, value);
  return largest;
}

/// One path per colour: a cell costs some 20 bytes.
std::string cells(const HeatMap& map, const Grid& grid) {
  std::array<std::string, heat_colors> paths;
  const double largest = largest_of(map);
  for (std::size_t row = 0; row < grid.rows; ++row) {
    for (std::size_t column = 0; column < grid.columns; ++column) {
      const double value = value_of(map, grid, row, column);
      if (std::isnan(value)) continue;
      const double share = largest > 0 ? std::max(0.0, value / largest) : 0;
      const auto color =
          std::min(heat_colors - 1, static_cast<std::size_t>(share * double(heat_colors)));
      paths[color] += fmt::format(
          "M{} {}h{}v{}h-{}z", coordinate(grid.left + double(column) * grid.cell_width),
          coordinate(grid.top + double(row) * grid.cell_height), coordinate(grid.cell_width),
          coordinate(grid.cell_height), coordinate(grid.cell_width));
    }
  }
  std::string all;
  for (std::size_t color = 0; color < heat_colors; ++color) {
    if (!paths[color].empty())
      all += fmt::format("<path class=\"h{}\" d=\"{}\"/>\n", color, paths[color]);
  }
  return all;
}

/// As many labels as fit, evenly spaced.
std::string labels(const HeatMap& map, const Grid& grid, double bottom) {
  std::string all;
  const auto rows = map.rows.size();
  const auto every_row = static_cast<std::size_t>(
      std::ceil(13 / (grid.cell_height * double(grid.rows) / double(rows))));
  for (std::size_t i = 0; i < rows; i += std::max<std::size_t>(1, every_row)) {
    const double y =
        grid.top + (double(i) + 0.5) * grid.cell_height * double(grid.rows) / double(rows);
    all += svg_text(grid.left - 5, y + 4, "end", shortened(map.rows[i], 16));
  }
  int longest = 1;
  for (const auto& column : map.columns) longest = std::max(longest, characters_in(column));
  const double pitch = grid.cell_width * double(grid.columns) / double(map.columns.size());
  const double wide = 3 + svg_letter * std::min(longest, 14);
  const auto every = static_cast<std::size_t>(std::ceil(wide / pitch));
  for (std::size_t i = 0; i < map.columns.size(); i += every)
    all += svg_text(grid.left + (double(i) + 0.5) * pitch, bottom + 15, "middle",
                    shortened(map.columns[i], 14));
  return all;
}

std::string scale(const HeatMap& map) {
  std::string all;
  constexpr double cell = 14;
  const double largest = largest_of(map);
  const std::string end = short_number(largest) + (map.unit.empty() ? "" : " " + map.unit);
  double x = svg_width - 4 - svg_letter * characters_in(end) - cell * heat_colors - 6;
  all += svg_text(x - 5, svg_line - 4, "end", "0");
  for (std::size_t color = 0; color < heat_colors; ++color) {
    all += svg_box(fmt::format("h{}", color), x, 3, cell, 12);
    x += cell;
  }
  return all + svg_text(x + 5, svg_line - 4, "start", end);
}

}  // namespace

std::string draw(const HeatMap& map) {
  if (map.rows.empty() || map.columns.empty()) return "";
  const Grid grid = grid_of(map);
  const double bottom = grid.top + grid.cell_height * double(grid.rows);
  std::string body = scale(map) + svg_text(2, svg_line - 4, "start", map.row_title);
  body += cells(map, grid);
  for (const std::size_t row : map.groups) {
    if (row == 0 || row >= map.rows.size()) continue;
    const double y =
        grid.top + grid.cell_height * double(grid.rows) * double(row) / double(map.rows.size());
    body += fmt::format("<path class=\"border\" d=\"M{} {}H{}\"/>", coordinate(grid.left),
                        coordinate(y), svg_width - 4);
  }
  body += labels(map, grid, bottom);
  body += svg_text((grid.left + svg_width) / 2, bottom + 32, "middle", map.column_title);
  return svg_drawing("heat", bottom + 40, map.title, body);
}

std::string numbers_of(const HeatMap& map, std::size_t most) {
  const auto evenly = [most](std::size_t all) {
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < all; ++i)
      if (all <= most || (i + 1) * most / all != i * most / all) kept.push_back(i);
    return kept;
  };
  const auto columns = evenly(map.columns.size());
  const auto kept_rows = evenly(map.rows.size());
  std::vector<std::string> head = {map.row_title};
  for (const auto c : columns)
    head.push_back(map.unit.empty() ? map.columns[c] : map.columns[c] + ", " + map.unit);
  std::vector<std::vector<std::string>> rows;
  for (const auto r : kept_rows) {
    std::vector<std::string> row = {map.rows[r]};
    for (const auto c : columns)
      row.push_back(short_number(map.values[r * map.columns.size() + c]));
    rows.push_back(std::move(row));
  }
  const bool whole = kept_rows.size() == map.rows.size() && columns.size() == map.columns.size();
  const auto thinned =
      whole ? ""
            : fmt::format("<p>{} of {} rows, {} of {} columns, evenly spaced.</p>",
                          kept_rows.size(), map.rows.size(), columns.size(), map.columns.size());
  return thinned + html_table(head, rows);
}

}  // namespace dllaunch
