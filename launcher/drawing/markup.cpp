#include "launcher/drawing/markup.hpp"

#include <fmt/format.h>

#include <cmath>

#include "launcher/base/utf8.hpp"

namespace dllaunch {

std::string markup(std::string_view line) {
  std::string text;
  for (const char c : printable(line)) {
    switch (c) {
      case '&':
        text += "&amp;";
        break;
      case '<':
        text += "&lt;";
        break;
      case '>':
        text += "&gt;";
        break;
      case '"':
        text += "&quot;";
        break;
      case '\'':
        text += "&#39;";
        break;
      default:
        text += c;
    }
  }
  return text;
}

std::string markup_lines(std::string_view text) {
  std::string all;
  while (!text.empty()) {
    const auto end = text.find('\n');
    all += markup(text.substr(0, end));
    if (end == std::string_view::npos) break;
    all += '\n';
    text.remove_prefix(end + 1);
  }
  return all;
}

std::string element(std::string_view tag, std::string_view attributes, std::string_view content) {
  return fmt::format("<{}{}{}>{}</{}>", tag, attributes.empty() ? "" : " ", attributes, content,
                     tag);
}

std::string coordinate(double value) {
  if (!std::isfinite(value)) return "0";
  const double rounded = std::round(value * 10) / 10;
  return fmt::format("{:.10g}", rounded == 0 ? 0.0 : rounded);
}

}  // namespace dllaunch
