#include "launcher/drawing/svg.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "launcher/base/utf8.hpp"
#include "launcher/drawing/markup.hpp"

namespace dllaunch {

std::string svg_text(double x, double y, std::string_view anchor, std::string_view words) {
  const bool start = anchor == "start";
  return fmt::format(R"(<text x="{}" y="{}"{}>{}</text>)", coordinate(x), coordinate(y),
                     start ? "" : fmt::format(R"( text-anchor="{}")", anchor), markup(words));
}

std::string svg_box(std::string_view kind, double x, double y, double wide, double high) {
  return fmt::format(R"(<path class="{}" d="M{} {}h{}v{}h-{}z"/>)", kind, coordinate(x),
                     coordinate(y), coordinate(wide), coordinate(high), coordinate(wide));
}

std::string shortened(std::string_view text, int most) {
  if (characters_in(text) <= most) return std::string(text);
  std::string kept;
  for (int i = 0; i < most - 2 && !text.empty(); ++i) {
    const auto bytes = std::max<std::size_t>(1, utf8_length(text));
    kept += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return kept + "..";
}

std::string svg_drawing(std::string_view kind, double height, std::string_view title,
                        std::string_view content) {
  return fmt::format(
      R"(<svg class="{}" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {:g} {}" role="img">)"
      "<title>{}</title>\n{}</svg>\n",
      kind, svg_width, coordinate(height), markup(title), content);
}

}  // namespace dllaunch
