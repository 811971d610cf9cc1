// One HTML page that needs nothing else: its style is in it, and it has no script.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

struct PageSection {
  std::string id = {};       // of its heading: "curves"
  std::string title = {};    // plain text; empty: no heading, and not in the list of contents
  std::string content = {};  // markup
};

struct Page {
  std::string title = {};
  std::string note = {};  // below it, one line of plain text
  std::vector<PageSection> sections = {};
};

/// The page as UTF-8. It is legible in dark mode, on a telephone and on paper.
std::string html_page(const Page& page);

/// A drawing with its title above it and its numbers, folded, below it.
std::string figure(const std::string& title, const std::string& drawing,
                   const std::string& numbers);

/// A drawing as a file of its own: SVG with its style.
std::string svg_file(std::string drawing);

/// templates/drawings.css, which every drawing needs, and templates/report.css of a page: compiled
/// in.
std::string_view drawing_style();
std::string_view report_style();

}  // namespace dllaunch
