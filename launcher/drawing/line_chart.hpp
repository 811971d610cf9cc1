// Draws curves with axes, as SVG.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace dllaunch {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

/// A point that is not finite is left out, and interrupts its curve. `low` and `high`: an error
/// bar.
struct Point {
  double x = 0;
  double y = 0;
  double low = no_number;
  double high = no_number;
};

/// A curve: points in the order of x. Without dots, error bars are a band.
struct Series {
  std::string name = {};
  std::vector<Point> points = {};
  bool marked = false;  // a dot at each point: for few
  bool dashed = false;  // a reference or a prediction
  bool joined = true;   // by a line; false, with dots: a cloud of points
};

struct Axis {
  std::string title = {};       // with its unit: "throughput, images/s"
  bool logarithmic = false;     // if every value is > 0 and they span enough of it
  bool from_zero = false;       // the axis contains 0
  bool whole = false;           // ticks at whole numbers alone
  std::vector<double> at = {};  // ticks at exactly these places; empty: at round numbers
};

/// A vertical line at x.
struct Flag {
  double x = 0;
  std::string text = {};  // shown on hovering
};

struct LineChart {
  std::string title = {};
  Axis x = {};
  Axis y = {};
  std::vector<Series> series = {};
  std::vector<Flag> flags = {};
};

/// Whether there is anything to draw: two finite points of one series, or a marked one.
bool has_points(const LineChart& chart);

/// An <svg> of class "chart", styled by templates/report.css. Of curves with more points than the
/// picture has columns, it keeps each column's extremes.
std::string draw(const LineChart& chart);

/// Its numbers: a row per x, a column per series. More than `most_rows` are thinned out evenly, and
/// a line says so.
std::string numbers_of(const LineChart& chart, std::size_t most_rows = 200);

}  // namespace dllaunch
