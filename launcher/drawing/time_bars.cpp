#include "launcher/drawing/time_bars.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "launcher/base/utf8.hpp"
#include "launcher/drawing/markup.hpp"
#include "launcher/drawing/number_table.hpp"
#include "launcher/drawing/svg.hpp"
#include "launcher/drawing/ticks.hpp"

namespace dllaunch {
namespace {

constexpr double bars_left = 74;
constexpr double bars_right = svg_width - 14;
constexpr double row_height = 34;
constexpr int most_letters = 60;  // of a row's text

struct TimeUnit {
  double seconds = 1;
  const char* name = "s";
};

TimeUnit unit_of(double seconds) {
  if (seconds >= 3 * 3600) return {3600, "h"};
  if (seconds >= 3 * 60) return {60, "min"};
  return {1, "s"};
}

double end_of(const TimeBars& bars) {
  double end = 0;
  for (const TimeRow& row : bars.rows)
    for (const TimePart& part : row.parts) end = std::max(end, part.to_s);
  return std::isfinite(end) ? end : 0;
}

std::string legend(const TimeBars& bars) {
  std::string all;
  double x = bars_left;
  for (std::size_t i = 0; i < bars.kinds.size(); ++i) {
    all += svg_box(fmt::format("t{}", i), x, 5, 12, 10);
    all += svg_text(x + 17, svg_line - 3, "start", bars.kinds[i]);
    x += 17 + svg_letter * (characters_in(bars.kinds[i]) + 3);
  }
  return all;
}

}  // namespace

std::string draw(const TimeBars& bars) {
  if (bars.rows.empty()) return "";
  const TimeUnit unit = unit_of(end_of(bars));
  const Ticks ticks = linear_ticks(0, std::max(end_of(bars) / unit.seconds, 1e-3), 7);
  const auto across = [&](double seconds) {
    return bars_left +
           (bars_right - bars_left) * std::clamp(ticks.share(seconds / unit.seconds), 0.0, 1.0);
  };
  double y = svg_line + 10;
  std::string body = legend(bars) + "\n";
  for (const TimeRow& row : bars.rows) {
    body += svg_text(bars_left - 6, y + 11, "end", row.label);
    for (const TimePart& part : row.parts) {
      if (!(part.to_s > part.from_s)) continue;
      const double wide = std::max(0.5, across(part.to_s) - across(part.from_s));
      body += svg_box(fmt::format("t{}", part.kind), across(part.from_s), y, wide, 13);
    }
    body += svg_text(bars_left, y + 26, "start", shortened(row.text, most_letters)) + "\n";
    y += row_height;
  }
  for (std::size_t i = 0; i < ticks.at.size(); ++i) {
    const double x = across(ticks.at[i] * unit.seconds);
    body += fmt::format("<path class=\"axis\" d=\"M{} {}v4\"/>", coordinate(x), coordinate(y));
    body += svg_text(x, y + 17, "middle", ticks.labels[i]);
  }
  body +=
      fmt::format("<path class=\"axis\" d=\"M{} {}H{}\"/>", bars_left, coordinate(y), bars_right);
  body += svg_text((bars_left + bars_right) / 2, y + 35, "middle",
                   fmt::format("time since the start, {}", unit.name));
  return svg_drawing("bars", y + 42, bars.title, body);
}

std::string numbers_of(const TimeBars& bars) {
  std::vector<std::vector<std::string>> rows;
  for (const TimeRow& row : bars.rows) {
    for (const TimePart& part : row.parts) {
      if (!(part.to_s > part.from_s)) continue;
      rows.push_back({row.label, bars.kinds.at(part.kind), fmt::format("{:.1f}", part.from_s),
                      fmt::format("{:.1f}", part.to_s), row.text});
    }
  }
  return html_table({"start", "part", "from, s", "to, s", "how it ended"}, rows);
}

}  // namespace dllaunch
