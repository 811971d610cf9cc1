#include "launcher/drawing/line_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "launcher/base/utf8.hpp"
#include "launcher/drawing/markup.hpp"
#include "launcher/drawing/number_table.hpp"
#include "launcher/drawing/svg.hpp"
#include "launcher/drawing/ticks.hpp"

namespace dllaunch {
namespace {

constexpr double least_left = 58;
constexpr double chart_right = svg_width - 14;
constexpr double plot_height = 190;
constexpr double label_gap = 6;  // between the labels of y and the axis

bool is_drawn(const Point& point) {
  return std::isfinite(point.x) && std::isfinite(point.y);
}

/// The numbers that an axis must contain.
struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

Ticks ticks_of(const Axis& axis, Extent extent, int most) {
  if (axis.from_zero) extent.add(0);
  for (const double at : axis.at) extent.add(at);
  if (extent.empty()) extent = {.low = 0, .high = 1};
  if (axis.whole && extent.high - extent.low < 1)
    extent = {.low = std::floor(extent.low) - 1, .high = std::ceil(extent.high) + 1};
  if (axis.whole)
    most = static_cast<int>(std::clamp(extent.high - extent.low + 1, 2.0, double(most)));
  Ticks ticks = axis.logarithmic && extent.low > 0
                    ? logarithmic_ticks(extent.low, extent.high, most)
                    : linear_ticks(extent.low, extent.high, most);
  if (axis.at.empty()) return ticks;
  ticks.at = axis.at;
  ticks.labels.clear();
  for (const double at : axis.at) ticks.labels.push_back(short_number(at));
  return ticks;
}

/// A chart's frame: places of numbers in the drawing.
struct Frame {
  Ticks x;
  Ticks y;
  double left = least_left;
  double top = 0;
  double bottom = 0;

  double across(double value) const { return left + (chart_right - left) * x.share(value); }
  double up(double value) const { return bottom - (bottom - top) * y.share(value); }
};

std::string line(std::string_view kind, double x1, double y1, double x2, double y2) {
  return fmt::format("<path class=\"{}\" d=\"M{} {}L{} {}\"/>", kind, coordinate(x1),
                     coordinate(y1), coordinate(x2), coordinate(y2));
}

std::string axes(const LineChart& chart, const Frame& frame) {
  std::string all;
  for (std::size_t i = 0; i < frame.y.at.size(); ++i) {
    const double y = frame.up(frame.y.at[i]);
    all += line("grid", frame.left, y, chart_right, y) +
           svg_text(frame.left - label_gap, y + 4, "end", frame.y.labels[i]);
  }
  double free_from = 0;  // where the previous label ends
  for (std::size_t i = 0; i < frame.x.at.size(); ++i) {
    const double x = frame.across(frame.x.at[i]);
    const double half = svg_letter * characters_in(frame.x.labels[i]) / 2;
    all += line("axis", x, frame.bottom, x, frame.bottom + 4);
    if (x - half < free_from) continue;
    free_from = x + half + svg_letter;
    all += svg_text(std::min(x, svg_width - half), frame.bottom + 17, "middle", frame.x.labels[i]);
  }
  all += line("axis", frame.left, frame.bottom, chart_right, frame.bottom);
  all += svg_text((frame.left + chart_right) / 2, frame.bottom + 35, "middle", chart.x.title);
  return all;
}

/// The lines of the legend, and where they end.
std::string legend(const LineChart& chart, double& y) {
  std::string all;
  double x = least_left;
  bool any = false;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    if (series.name.empty()) continue;
    const double wide = 24 + svg_letter * (characters_in(series.name) + 2);
    if (any && x + wide > svg_width) {
      x = least_left;
      y += svg_line;
    }
    all += fmt::format("<g class=\"s{}{}\">{}</g>", i % svg_colors, series.dashed ? " dashed" : "",
                       line("curve", x, y - 4, x + 18, y - 4));
    all += svg_text(x + 24, y, "start", series.name);
    x += wide;
    any = true;
  }
  if (any) y += svg_line;
  return all;
}

/// The points of a curve without gaps: first, lowest, highest and last of each two columns.
std::string path_of(std::span<const Point> points, const Frame& frame) {
  constexpr double columns = 2;
  std::string path;
  const auto add = [&](const Point& point) {
    path += fmt::format("{}{} {}", path.empty() ? 'M' : 'L', coordinate(frame.across(point.x)),
                        coordinate(frame.up(point.y)));
  };
  const auto column = [&](const Point& point) {
    return std::floor(frame.across(point.x) / columns);
  };
  for (std::size_t begin = 0; begin < points.size();) {
    std::size_t end = begin;
    std::size_t low = begin;
    std::size_t high = begin;
    for (; end < points.size() && column(points[end]) == column(points[begin]); ++end) {
      if (points[end].y < points[low].y) low = end;
      if (points[end].y > points[high].y) high = end;
    }
    std::vector<std::size_t> kept = {begin, std::min(low, high), std::max(low, high), end - 1};
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    for (const std::size_t i : kept) add(points[i]);
    begin = end;
  }
  return fmt::format("<path class=\"curve\" d=\"{}\"/>", path);
}

bool has_bar(const Point& point) {
  return std::isfinite(point.low) && std::isfinite(point.high);
}

/// Between the ends of the error bars, where there are too many for bars.
std::string band(std::span<const Point> points, const Frame& frame) {
  if (!std::ranges::all_of(points, has_bar)) return "";
  std::string path;
  const auto add = [&](double x, double y) {
    path += fmt::format("{}{} {}", path.empty() ? 'M' : 'L', coordinate(frame.across(x)),
                        coordinate(frame.up(y)));
  };
  for (const Point& point : points) add(point.x, point.high);
  for (auto point = points.rbegin(); point != points.rend(); ++point) add(point->x, point->low);
  return fmt::format("<path class=\"band\" d=\"{}z\"/>", path);
}

std::string marks(const Series& series, const Frame& frame) {
  std::string all;
  for (const Point& point : series.points) {
    if (!is_drawn(point)) continue;
    const double x = frame.across(point.x);
    if (series.marked && has_bar(point)) {
      const double low = frame.up(point.low);
      const double high = frame.up(point.high);
      all += line("curve", x, low, x, high) + line("curve", x - 4, low, x + 4, low) +
             line("curve", x - 4, high, x + 4, high);
    }
    if (series.marked)
      all += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"3\"/>", coordinate(x),
                         coordinate(frame.up(point.y)));
  }
  return all;
}

std::string curve(const Series& series, std::size_t number, const Frame& frame) {
  std::string all;
  const auto& points = series.points;
  const auto drawn = [&](const Point& point) {
    return is_drawn(point) && (!frame.y.logarithmic || point.y > 0) &&
           (!frame.x.logarithmic || point.x > 0);
  };
  for (auto begin = points.begin(); begin != points.end();) {
    begin = std::find_if(begin, points.end(), drawn);
    const auto end = std::find_if_not(begin, points.end(), drawn);
    if (end - begin > 1 && series.joined) {
      if (!series.marked) all += band({begin, end}, frame);
      all += path_of({begin, end}, frame);
    }
    begin = end;
  }
  all += marks(series, frame);
  return fmt::format("<g class=\"s{}{}\">{}</g>\n", number % svg_colors,
                     series.dashed ? " dashed" : "", all);
}

Frame frame_of(const LineChart& chart, double top) {
  constexpr int most_ticks = 6;
  Extent x;
  Extent y;
  for (const Series& series : chart.series) {
    for (const Point& point : series.points) {
      if (!is_drawn(point)) continue;
      x.add(point.x);
      for (const double value : {point.y, point.low, point.high}) y.add(value);
    }
  }
  Frame frame{.x = ticks_of(chart.x, x, most_ticks + 1),
              .y = ticks_of(chart.y, y, most_ticks),
              .top = top,
              .bottom = top + plot_height};
  for (const auto& label : frame.y.labels)
    frame.left = std::max(frame.left, 2 * label_gap + svg_letter * characters_in(label));
  return frame;
}

}  // namespace

bool has_points(const LineChart& chart) {
  return std::ranges::any_of(chart.series, [](const Series& series) {
    return std::ranges::count_if(series.points, is_drawn) > (series.marked ? 0 : 1);
  });
}

std::string draw(const LineChart& chart) {
  double y = svg_line;
  std::string head = svg_text(2, y - 3, "start", chart.y.title);
  y += svg_line;
  head += legend(chart, y);
  const Frame frame = frame_of(chart, y - 6);
  std::string body = axes(chart, frame) + "\n";
  for (const Flag& flag : chart.flags) {
    if (!std::isfinite(flag.x) || flag.x < frame.x.low || flag.x > frame.x.high) continue;
    const double x = frame.across(flag.x);
    body += fmt::format("<g class=\"flag\"><title>{}</title>{}</g>\n", markup(flag.text),
                        line("curve", x, frame.top, x, frame.bottom));
  }
  for (std::size_t i = 0; i < chart.series.size(); ++i) body += curve(chart.series[i], i, frame);
  return svg_drawing("chart", frame.bottom + 42, chart.title, head + "\n" + body);
}

std::string numbers_of(const LineChart& chart, std::size_t most_rows) {
  std::map<double, std::vector<std::string>> rows;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    for (const Point& point : chart.series[i].points) {
      if (!is_drawn(point)) continue;
      auto& row = rows[point.x];
      row.resize(chart.series.size());
      row[i] = short_number(point.y);
      if (std::isfinite(point.low) && std::isfinite(point.high))
        row[i] += fmt::format(" ({} to {})", short_number(point.low), short_number(point.high));
    }
  }
  std::vector<std::string> head = {chart.x.title};
  for (const Series& series : chart.series)
    head.push_back(series.name.empty() ? chart.y.title : series.name);
  std::vector<std::vector<std::string>> shown;
  std::size_t number = 0;
  for (auto& [x, row] : rows) {
    ++number;  // the last row is always among them
    const bool kept = number * most_rows / rows.size() > (number - 1) * most_rows / rows.size();
    if (rows.size() > most_rows && !kept) continue;
    row.insert(row.begin(), short_number(x));
    shown.push_back(std::move(row));
  }
  const std::string thinned =
      shown.size() == rows.size()
          ? ""
          : fmt::format("<p>{} of {} rows, evenly spaced.</p>", shown.size(), rows.size());
  return thinned + html_table(head, shown);
}

}  // namespace dllaunch
