#include "launcher/compare/compare_page.hpp"

#include <fmt/format.h>

#include <utility>

#include "launcher/base/utf8.hpp"
#include "launcher/base/version.hpp"
#include "launcher/compare/compared_charts.hpp"
#include "launcher/drawing/markup.hpp"
#include "launcher/drawing/number_table.hpp"
#include "support/counted.hpp"

namespace dllaunch {
namespace {

using Cells = std::vector<std::vector<std::string>>;

/// A row is all that may be too long: these tables are what the page is for.
std::string scrolled(const std::string& table) {
  return "<div class=across>" + table + "</div>\n";
}

std::vector<std::string> head_of(const Comparison& comparison, std::string_view first) {
  std::vector<std::string> head = {std::string(first)};
  for (const ComparedRun& run : comparison.runs) head.push_back(run.label);
  return head;
}

/// --json has the whole of a long value.
std::string bounded(const std::string& value) {
  constexpr std::size_t most_bytes = 400;
  const auto part = first_bytes(value, most_bytes);
  return part.size() == value.size() ? value : std::string(part) + " ...";
}

PageSection figures_side_by_side(const Comparison& comparison) {
  Cells rows;
  for (const FigureRow& row : figure_rows(comparison)) {
    rows.push_back({row.name});
    rows.back().insert(rows.back().end(), row.cells.begin(), row.cells.end());
  }
  Cells places;
  for (const ComparedRun& run : comparison.runs) places.push_back({run.label, run.path});
  std::string content = scrolled(html_table(head_of(comparison, ""), rows)) +
                        folded("directories", html_table({"", "directory"}, places));
  for (const auto& note : comparison.notes) content += element("p", "", markup(note)) + "\n";
  for (const ComparedRun& run : comparison.runs)
    for (const auto& note : run.notes)
      content += element("p", "", markup(run.label + ": " + note)) + "\n";
  return {.id = "figures", .title = "Side by side", .content = std::move(content)};
}

std::string figures_of(const std::vector<LineChart>& charts) {
  if (charts.empty()) return "";
  std::string all = "<div class=figures>\n";
  for (const LineChart& chart : charts) all += figure(chart.title, draw(chart), numbers_of(chart));
  return all + "</div>\n";
}

PageSection what_differs(const Comparison& comparison) {
  std::string content;
  std::vector<std::string_view> same;
  for (const DifferenceGroup& group : comparison.differences) {
    if (group.rows.empty()) {
      same.push_back(group.title);
      continue;
    }
    Cells rows;
    for (const Difference& row : group.rows) {
      rows.push_back({row.name});
      for (const auto& value : row.values)
        rows.back().push_back(value ? bounded(*value) : "unknown");
    }
    content += element("h3", "", markup(group.title)) + "\n" +
               scrolled(html_table(head_of(comparison, ""), rows));
  }
  if (!same.empty())
    content += element("p", "", fmt::format("No difference known: {}.", fmt::join(same, ", ")));
  content +=
      "<p>Values of names that look like secrets are left out. Versions and packages are those of "
      "the machine that submitted.</p>\n";
  for (const ComparedRun& run : comparison.runs)
    if (run.origin && !run.origin->left_out.empty())
      content += element("p", "",
                         markup(fmt::format("{}: variables left out: {}", run.label,
                                            fmt::join(run.origin->left_out, ", ")))) +
                 "\n";
  return {.id = "differences", .title = "What differs", .content = std::move(content)};
}

PageSection left_out(const Comparison& comparison) {
  std::string items;
  for (const LeftOutRun& one : comparison.left_out)
    items += element("li", "", markup(one.query + ": " + one.why)) + "\n";
  return {.id = "left-out",
          .title = "Left out",
          .content = items.empty() ? "" : element("ul", "", items) + "\n"};
}

}  // namespace

Page compare_page(const Comparison& comparison) {
  Page page{.title = "Comparison of " + counted(std::ssize(comparison.runs), "run"),
            .note = fmt::format("dllaunch {}", version()),
            .sections = {figures_side_by_side(comparison),
                         {.id = "curves",
                          .title = "Curves",
                          .content = figures_of(compared_curves(comparison.runs))},
                         {.id = "scaling",
                          .title = "Scaling",
                          .content = figures_of(compared_scaling(comparison.runs))},
                         what_differs(comparison),
                         left_out(comparison)}};
  std::erase_if(page.sections, [](const PageSection& one) { return one.content.empty(); });
  return page;
}

}  // namespace dllaunch
