#include "launcher/probe/render_probe.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "launcher/base/table.hpp"
#include "launcher/cluster/probed_node.hpp"
#include "launcher/slurm/host_list.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

std::string partitions_of(const ProbeTarget& target) {
  std::vector<std::string> names;
  for (const auto& place : target.places) names.push_back(place.partition);
  return fmt::format("{}", fmt::join(names, ","));
}

std::string software_words(const ProbedNode& node) {
  std::string text;
  for (const auto& [name, version] : node.drivers) text += fmt::format("; {} {}", name, version);
  if (!node.kernel.empty()) text += "; Linux " + node.kernel;
  return text;
}

Json record_of(const ProbedNode& node, const ProbeFiles& files, std::int64_t now) {
  Json drivers = Json::object();
  for (const auto& [name, version] : node.drivers) drivers[name] = version;
  return {{"id", node_type_id(node.type)},
          {"cluster", node.cluster},
          {"partitions", node.partitions},
          {"hosts", compress_hosts(node.type.hosts)},
          {"host", node.host},
          {"time", node.time},
          {"age_seconds", std::max<std::int64_t>(0, now - node.time)},
          {"cpus", node.topology.present_cpus.size()},
          {"allowed_cpus", to_list(node.topology.allowed_cpus)},
          {"gpus", node.topology.gpus.size()},
          {"kernel", node.kernel},
          {"drivers", std::move(drivers)},
          {"fits", describes(node.topology, node.type)},
          {"file", files.json},
          {"xml", files.xml}};
}

}  // namespace

std::string render_probes(const ProbeOutcome& outcome) {
  std::string text;
  for (const auto& [node, files] : outcome.kept) {
    text += fmt::format("{}: {}, {}\n", fmt::join(node.partitions, ","),
                        compress_hosts(node.type.hosts), shape_words(node.type));
    text += fmt::format("  {} has {}{}\n  {}\n", node.host, shape_words(node.topology),
                        software_words(node), files.json);
    if (const auto what = describe_difference(node.topology, node.type); !what.empty())
      text +=
          fmt::format("  warning: {} differs from what Slurm reports: {}; no plan will use it\n",
                      node.host, what);
  }
  return text;
}

std::string render_probe_list(const std::vector<ProbedNode>& nodes, std::int64_t now) {
  std::vector<TableRow> rows = {
      {"CLUSTER", "PARTITIONS", "NODES", "SLURM SAYS", "SEEN ON", "WHEN"}};
  for (const auto& node : nodes)
    rows.push_back({node.cluster, fmt::format("{}", fmt::join(node.partitions, ",")),
                    compress_hosts(node.type.hosts), shape_words(node.type), node.host,
                    age_words(now - node.time)});
  return table_text(rows);
}

Json probes_json(const ProbeOutcome& outcome) {
  Json probed = Json::array();
  for (const auto& [node, files] : outcome.kept)
    probed.push_back(record_of(node, files, node.time));
  Json missed = Json::array();
  for (const auto& [target, why] : outcome.missed)
    missed.push_back({{"partitions", partitions_of(target)},
                      {"hosts", compress_hosts(target.type.hosts)},
                      {"why", why}});
  return {{"probed", std::move(probed)}, {"missed", std::move(missed)}};
}

Json probe_list_json(const ProbeCache& cache, const std::string& folder, std::int64_t now) {
  Json probed = Json::array();
  for (const auto& node : cache.nodes)
    probed.push_back(record_of(node, probe_files(folder, node), now));
  return {{"probed", std::move(probed)}, {"damaged", cache.complaints}};
}

}  // namespace dllaunch
