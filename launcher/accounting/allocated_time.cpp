#include "launcher/accounting/allocated_time.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "launcher/base/split.hpp"
#include "launcher/os/stored_json.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

struct Span {
  double from_s = 0;
  double to_s = 0;
  double node_seconds = 0;           // once their number is known
  double before_s = 0;               // until then
  std::optional<double> nodes = {};  // since the last line

  void extend(double from, double to) {
    const double more_s = from_s - from + std::max(0.0, to - to_s);
    (nodes ? node_seconds : before_s) += nodes.value_or(1) * more_s;
    from_s = from;
    to_s = std::max(to_s, to);
  }
  /// The first number is that of the time before, too.
  void have(double number) {
    node_seconds += std::exchange(before_s, 0) * number;
    nodes = number;
  }
};

struct Allocated {
  double seconds = 0;
  double node_seconds = 0;
  double last_nodes = 0;
};

/// The time of a line; nullopt: it has none, or is of an earlier run in the directory.
std::optional<double> time_of(const Json& line, double since_s) {
  constexpr double latest = 1e11;  // beyond any valid clock
  const double time = value_at<double>(line, "time");
  return time > 0 && time < latest && time >= since_s ? std::optional(time) : std::nullopt;
}

std::pair<std::string, std::int64_t> allocation_of(const Json& line) {
  return {value_at<std::string>(line, "job"), value_at<std::int64_t>(line, "allocation")};
}

Allocated allocated(std::string_view journal, double since_s, double planned) {
  std::map<std::pair<std::string, std::int64_t>, Span> spans;  // by job and allocation
  Allocated all{.last_nodes = planned};
  for (const auto text : split_lines(journal)) {
    const Json line = json_object_in(std::string(text));
    const auto told = time_of(line, since_s);
    if (!told) continue;
    const double time = *told;
    // A pre-flight is told when it is over.
    const bool looked = value_at<std::string>(line, "event") == "preflight";
    const double took = looked ? std::max(0.0, value_at<double>(line, "seconds")) : 0;
    const auto at =
        spans.try_emplace(allocation_of(line), Span{.from_s = time, .to_s = time}).first;
    at->second.extend(std::min(at->second.from_s, std::max(since_s, time - took)), time);
    const auto held = value_at<double>(line, "held");
    if (held > 0 && held <= planned) at->second.have(held);
    all.last_nodes = at->second.nodes.value_or(planned);
  }
  for (auto& [key, span] : spans) {
    if (!span.nodes) span.have(planned);
    all.seconds += span.to_s - span.from_s;
    all.node_seconds += span.node_seconds;
  }
  return all;
}

}  // namespace

double allocated_seconds(std::string_view journal, double since_s) {
  return allocated(journal, since_s, 0).seconds;
}

HeldTime held_time(std::string_view journal, double since_s) {
  HeldTime held;
  double from_s = 0;  // of a hold; 0: none
  std::pair<std::string, std::int64_t> where;
  for (const auto text : split_lines(journal)) {
    const Json line = json_object_in(std::string(text));
    const auto time = time_of(line, since_s);
    if (!time) continue;
    const bool ends = from_s > 0 && allocation_of(line) == where;
    const double seconds = ends ? std::max(0.0, *time - from_s) : 0;
    held.all += seconds;
    if (value_at<std::string>(line, "event") != "retry") held.in_vain += seconds;
    from_s = value_at<std::string>(line, "next") == "hold" ? *time : 0;
    where = allocation_of(line);
  }
  return held;
}

double mean_nodes(std::string_view journal, double since_s, int planned, double seconds) {
  const auto found = allocated(journal, since_s, planned);
  const double rest = std::max(0.0, seconds - found.seconds);
  const double all = found.seconds + rest;
  return all > 0 ? (found.node_seconds + rest * found.last_nodes) / all : found.last_nodes;
}

}  // namespace dllaunch
