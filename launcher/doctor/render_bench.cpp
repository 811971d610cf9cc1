// Measured bandwidths as tables: a row per source, a column per NUMA node.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "launcher/doctor/bench.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

std::string text_of(const Json& object, const char* key) {
  return value_at<std::string>(object, key);
}

double number_of(const Json& object, const char* key) {
  return value_at<double>(object, key);
}

const Json& list_of(const Json& object, const char* key) {
  static const Json none = Json::array();
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : none;
}

/// Rows in order of appearance.
struct Table {
  std::vector<std::string> sources;
  std::set<int> nodes;
  std::map<std::pair<std::string, int>, double> cells;

  void add(const std::string& source, int node, double speed) {
    if (std::find(sources.begin(), sources.end(), source) == sources.end())
      sources.push_back(source);
    nodes.insert(node);
    cells[{source, node}] = speed;
  }

  std::string text(const std::string& heading) const {
    constexpr std::size_t cell = 9;
    std::size_t width = heading.size();
    for (const auto& source : sources) width = std::max(width, source.size());
    std::string out = fmt::format("  {:<{}}", heading, width);
    for (const int node : nodes) out += fmt::format("{:>{}}", fmt::format("node {}", node), cell);
    out += "\n";
    for (const auto& source : sources) {
      out += fmt::format("  {:<{}}", source, width);
      for (const int node : nodes) {
        const auto found = cells.find({source, node});
        out += found == cells.end() ? fmt::format("{:>{}}", "-", cell)
                                    : fmt::format("{:>{}.1f}", found->second, cell);
      }
      out += "\n";
    }
    return out;
  }
};

/// "near 31.2, far 17.9 GB/s: the wrong node costs 43 %", by medians; empty without a far node.
std::string cost_of(const Json& items) {
  std::vector<double> near;
  std::vector<double> far;
  for (const auto& item : items) {
    const auto local = value_at<std::optional<bool>>(item, "local");
    if (local) (*local ? near : far).push_back(number_of(item, "gb_per_s"));
  }
  if (near.empty() || far.empty()) return "";
  const auto median = [](std::vector<double>& values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  const double best = median(near);
  const double worst = median(far);
  if (best <= 0) return "";
  const double loss = 100 * (1 - worst / best);
  if (loss < 1) return fmt::format("  near {:.1f}, far {:.1f} GB/s: no difference\n", best, worst);
  return fmt::format("  near {:.1f}, far {:.1f} GB/s: the wrong node costs {:.0f} %\n", best, worst,
                     loss);
}

std::string render_host(const Json& host) {
  std::string out;
  Table memory;
  for (const auto& item : list_of(host, "memory"))
    memory.add(text_of(item, "cpus"), static_cast<int>(number_of(item, "numa")),
               number_of(item, "gb_per_s"));
  if (!memory.sources.empty()) {
    out += fmt::format("{}: memory bandwidth, GB/s\n", text_of(host, "host"));
    out += memory.text("from CPUs");
    const auto cost = cost_of(list_of(host, "memory"));
    out += !cost.empty()             ? cost
           : memory.nodes.size() < 2 ? "  one NUMA node: memory is near from every CPU\n"
                                     : "";
  }
  Table copies;
  for (const auto& item : list_of(host, "copies"))
    copies.add(text_of(item, "pci"), static_cast<int>(number_of(item, "numa")),
               number_of(item, "gb_per_s"));
  if (!copies.sources.empty()) {
    out += fmt::format("{}: pinned copies to the GPU, GB/s\n", text_of(host, "host"));
    out += copies.text("to GPU, from") + cost_of(list_of(host, "copies"));
  }
  for (const auto& note : list_of(host, "notes"))
    if (note.is_string()) out += fmt::format("  {}\n", note.get<std::string>());
  return out;
}

}  // namespace

std::string render_bench(const Json& hosts) {
  constexpr std::size_t most_hosts = 3;
  if (!hosts.is_array()) return "";
  std::string out;
  for (std::size_t i = 0; i < std::min(hosts.size(), most_hosts); ++i)
    out += render_host(hosts[i]) + "\n";
  if (hosts.size() > most_hosts)
    out += fmt::format("and {} more hosts: see --json\n\n", hosts.size() - most_hosts);
  return out;
}

}  // namespace dllaunch
