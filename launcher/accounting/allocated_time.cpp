#include "launcher/accounting/allocated_time.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
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
};

}  // namespace

double allocated_seconds(std::string_view journal, double since_s) {
  std::map<std::pair<std::string, std::int64_t>, Span> spans;  // by job and allocation
  for (const auto text : split_lines(journal)) {
    const Json line = json_object_in(std::string(text));
    const double time = value_at<double>(line, "time");
    constexpr double latest = 1e11;  // beyond any valid clock
    if (!(time > 0 && time < latest) || time < since_s) continue;
    // A pre-flight is told when it is over.
    const bool looked = value_at<std::string>(line, "event") == "preflight";
    const double took = looked ? std::max(0.0, value_at<double>(line, "seconds")) : 0;
    const auto key =
        std::pair(value_at<std::string>(line, "job"), value_at<std::int64_t>(line, "allocation"));
    const auto [span, first] = spans.try_emplace(key, Span{time, time});
    span->second.from_s = std::min(span->second.from_s, std::max(since_s, time - took));
    span->second.to_s = std::max(span->second.to_s, time);
  }
  double seconds = 0;
  for (const auto& [key, span] : spans) seconds += span.to_s - span.from_s;
  return seconds;
}

}  // namespace dllaunch
