#include "launcher/compare/compare_text.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "launcher/base/table.hpp"
#include "launcher/base/utf8.hpp"
#include "launcher/drawing/svg.hpp"

namespace dllaunch {
namespace {

/// A cell is one short line, whatever stands in a job file. The page and --json have all of it.
std::string cell_of(std::string_view text) {
  constexpr int widest = 40;
  return text.empty() ? "-" : shortened(printable(text), widest);
}

TableRow heading(const Comparison& comparison, std::string_view first) {
  TableRow row = {std::string(first)};
  for (const ComparedRun& run : comparison.runs) row.push_back(cell_of(run.label));
  return row;
}

std::string differences_text(const Comparison& comparison) {
  std::string text;
  std::vector<std::string_view> same;
  for (const DifferenceGroup& group : comparison.differences) {
    if (group.rows.empty()) {
      same.push_back(group.title);
      continue;
    }
    std::vector<TableRow> rows = {heading(comparison, group.title)};
    for (const Difference& row : group.rows) {
      TableRow cells = {cell_of(row.name)};
      for (const auto& value : row.values) cells.push_back(value ? cell_of(*value) : "unknown");
      rows.push_back(std::move(cells));
    }
    text += "\n" + table_text(rows);
  }
  if (!same.empty()) text += fmt::format("\nno difference known: {}\n", fmt::join(same, ", "));
  return text;
}

}  // namespace

std::string render_comparison(const Comparison& comparison) {
  std::vector<TableRow> rows = {heading(comparison, "")};
  for (const FigureRow& row : figure_rows(comparison)) {
    TableRow cells = {row.name};
    for (const auto& cell : row.cells) cells.push_back(cell_of(cell));
    rows.push_back(std::move(cells));
  }
  std::string text = table_text(rows) + differences_text(comparison);
  std::string notes;
  for (const auto& note : comparison.notes) notes += printable(note) + "\n";
  for (const ComparedRun& run : comparison.runs)
    for (const auto& note : run.notes)
      notes += fmt::format("{}: {}\n", printable(run.label), printable(note));
  for (const ComparedRun& run : comparison.runs)
    if (run.origin && !run.origin->left_out.empty())
      notes += printable(fmt::format("{}: variables left out, since they look like secrets: {}",
                                     run.label, fmt::join(run.origin->left_out, ", "))) +
               "\n";
  for (const LeftOutRun& one : comparison.left_out)
    notes += printable(fmt::format("{} is left out: {}", one.query, one.why)) + "\n";
  return notes.empty() ? text : text + "\n" + notes;
}

}  // namespace dllaunch
