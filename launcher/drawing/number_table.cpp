#include "launcher/drawing/number_table.hpp"

#include "launcher/drawing/markup.hpp"

namespace dllaunch {
namespace {

bool is_number(std::string_view cell) {
  return cell.find_first_not_of("0123456789.,+-e %") == std::string_view::npos;
}

}  // namespace

std::string html_table(const std::vector<std::string>& head,
                       const std::vector<std::vector<std::string>>& rows) {
  std::string text = "<table><thead><tr>";
  for (const auto& title : head) text += element("th", "", markup(title));
  text += "</tr></thead><tbody>\n";
  for (const auto& row : rows) {
    text += "<tr>";
    for (const auto& cell : row)
      text += element("td", is_number(cell) ? "class=n" : "", markup(cell));
    text += "</tr>\n";
  }
  return text + "</tbody></table>";
}

std::string folded(std::string_view summary, std::string_view content) {
  return "<details>" + element("summary", "", markup(summary)) +
         element("div", "class=scroll", content) + "</details>\n";
}

}  // namespace dllaunch
