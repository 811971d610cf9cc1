// Check: the node has as much memory as the others, and it is free.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "launcher/preflight/check.hpp"
#include "launcher/preflight/outliers.hpp"

namespace dllaunch {
namespace {

/// What the memory controllers have counted since the node was booted; nullopt: they do not say.
std::optional<double> corrected_errors(const NodeView& view) {
  constexpr int most_controllers = 64;
  std::optional<double> all;
  for (int i = 0; i < most_controllers; ++i) {
    const auto text = view.system.read_file(
        fmt::format("{}/sys/devices/system/edac/mc/mc{}/ce_count", view.root, i));
    if (!text) break;
    all = all.value_or(0) + std::strtod(text->c_str(), nullptr);
  }
  return all;
}

Result<Json> observe_memory(const NodeView& view, const std::string&) {
  const auto text = view.system.read_file(view.root + "/proc/meminfo");
  if (!text) return text.error();
  Json seen = Json::object();
  std::istringstream lines(*text);
  for (std::string name, unit; lines >> name;) {
    double kib = 0;
    lines >> kib;
    std::getline(lines, unit);
    if (name == "MemTotal:") seen["total_bytes"] = kib * 1024;
    if (name == "MemAvailable:") seen["available_bytes"] = kib * 1024;
  }
  if (const auto errors = corrected_errors(view)) seen["corrected_errors"] = *errors;
  return seen;
}

std::vector<NodeResult> judge_memory(const PreflightRequest& request,
                                     const std::vector<NodeSample>& samples) {
  constexpr double gib = 1 << 30;
  constexpr double less_than_others = 0.95;  // losing one module costs at least 1/24
  constexpr double scarce = 0.10;
  constexpr double none = 0.02;
  constexpr double most_of_it = 0.8;  // jobs request whole nodes, and the system uses some
  std::vector<double> totals;
  for (const auto& sample : samples)
    if (const auto total = number_of(sample.seen, "total_bytes")) totals.push_back(*total);
  const double usual = median_of(totals);
  std::vector<NodeResult> results;
  for (const auto& [node, item, seen, trouble] : samples) {
    const auto total = number_of(seen, "total_bytes");
    const auto available = number_of(seen, "available_bytes");
    PreflightResult result;
    if (!total || !available || *total <= 0) {
      result.level = Level::warn;
      result.value = "not known";
      result.why = "/proc/meminfo has no MemTotal or MemAvailable";
      result.fix = "look at /proc/meminfo there";
      results.push_back({node, std::move(result)});
      continue;
    }
    result.value = fmt::format("{:.1f} of {:.1f} GiB available", *available / gib, *total / gib);
    const auto wanted = static_cast<double>(request.memory_bytes);
    const std::string taken =
        "find which processes use it: ps aux --sort=-rss | head; ask the administrators to end "
        "those of dead jobs";
    if (wanted > 0 && *available < most_of_it * wanted) {
      result.level = Level::fail;
      result.why = fmt::format("the job asked for {:.1f} GiB", wanted / gib);
      result.fix = taken;
    } else if (*available < scarce * *total) {
      result.level = *available < none * *total ? Level::fail : Level::warn;
      result.why = fmt::format("only {:.0f} % of it is left", 100 * *available / *total);
      result.fix = taken;
    } else if (*total < less_than_others * usual) {
      result.level = Level::warn;
      result.why = fmt::format("the other nodes have {:.1f} GiB", usual / gib);
      result.fix = "a memory module may have failed: tell the administrators";
    }
    results.push_back({node, std::move(result)});
  }
  return results;
}

}  // namespace

extern const PreflightCheck memory_check;
const PreflightCheck memory_check{
    .name = "memory",
    .about = "free memory, and as much in total as on the other nodes",
    .limit = std::chrono::milliseconds(1500),
    .observe = observe_memory,
    .judge = judge_memory};

}  // namespace dllaunch
