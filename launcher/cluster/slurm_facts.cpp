#include "launcher/cluster/slurm_facts.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "launcher/slurm/slurm_json.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

/// Whether a name is usable in a host list; a damaged record may contain anything.
bool is_host(const SlurmNode& node) {
  return node.name.find_first_of(", \t\r\n[]") == std::string::npos;
}

void add(std::vector<NodeType>& types, const SlurmNode& node) {
  auto type = std::find_if(types.begin(), types.end(), [&node](const NodeType& known) {
    return same_hardware(known, node) && known.features == node.features;
  });
  if (type == types.end()) type = types.insert(types.end(), node);
  type->hosts.push_back(node.name);
}

/// The partitions with their nodes.
std::vector<Partition> grouped(std::vector<Partition> partitions,
                               const std::vector<SlurmNode>& nodes) {
  std::map<std::string, std::size_t> position;
  for (std::size_t i = 0; i < partitions.size(); ++i) position.emplace(partitions[i].name, i);
  for (const auto& node : nodes)
    for (const auto& name : node.partitions)
      if (const auto found = position.find(name); found != position.end() && is_host(node))
        add(partitions[found->second].node_types, node);
  return partitions;
}

std::vector<Outage> outages_of(const std::vector<SlurmNode>& nodes) {
  std::vector<Outage> outages;
  for (const auto& node : nodes) {
    if (!is_out_of_order(node.state) || !is_host(node)) continue;
    auto same = std::find_if(outages.begin(), outages.end(), [&node](const Outage& outage) {
      return outage.state == node.state && outage.reason == node.reason;
    });
    if (same == outages.end())
      same = outages.insert(outages.end(),
                            Outage{.hosts = {}, .state = node.state, .reason = node.reason});
    same->hosts.push_back(node.name);
  }
  return outages;
}

/// One recording, with JSON documents separated from the text around them.
struct Recording {
  SlurmReport json;
  std::string text;
};

Result<Recording> read_recording(std::string_view recorded) {
  Recording recording;
  for (std::size_t at = 0; at < recorded.size();) {
    if (recorded[at] != '{') {
      const auto end = std::min(recorded.find('\n', at), recorded.size());
      recording.text += recorded.substr(at, end - at);
      recording.text += '\n';
      at = end + 1;
      continue;
    }
    try {
      std::size_t length = 0;
      add_slurm_json(Json::parse_first(recorded.substr(at), length), recording.json);
      at += length;
    } catch (const JsonError& problem) {
      return Error{ErrorKind::bad_request,
                   fmt::format("it is JSON, but damaged: {}", problem.what()),
                   "record it again: it may contain only the output of the commands"};
    }
  }
  return recording;
}

/// srun's list has no key; it starts with a line about "MPI ... types".
std::vector<std::string> recorded_mpi_types(std::string_view text) {
  for (const std::string_view title : {"MPI plugin types are", "MPI types are"}) {
    const auto begin = text.find(title);
    if (begin == std::string_view::npos) continue;
    auto end = text.find('=', begin);
    end = end == std::string_view::npos ? text.size() : text.rfind('\n', end);
    if (end != std::string_view::npos && end > begin)
      return parse_mpi_list(text.substr(begin, end - begin));
  }
  return {};
}

}  // namespace

bool SlurmFacts::enforces(std::string_view what) const {
  return std::find(enforced.begin(), enforced.end(), what) != enforced.end();
}

SlurmFacts slurm_facts(const SlurmConfig& config, std::vector<Partition> partitions,
                       const std::vector<SlurmNode>& nodes) {
  return {.version = config.version,
          .cluster = config.cluster,
          .mpi_types = {},
          .mpi_default = config.mpi_default,
          .pyxis = false,
          .partitions = grouped(std::move(partitions), nodes),
          .outages = outages_of(nodes),
          .enforced = config.enforced,
          .submit_plugins = config.submit_plugins,
          .reservations = {},
          .user = {}};
}

Result<Facts> facts_from_recording(std::string_view text) {
  auto recording = read_recording(text);
  if (!recording) return std::move(recording).error();
  auto& [json, lines] = *recording;
  auto config = parse_slurm_config(lines);
  if (config.version.empty()) config.version = json.version;
  if (config.cluster.empty()) config.cluster = json.cluster;
  auto partitions = parse_slurm_partitions(lines);
  if (partitions.empty()) partitions = std::move(json.partitions);
  auto nodes = parse_slurm_nodes(lines);
  if (nodes.empty()) nodes = std::move(json.nodes);
  auto slurm = slurm_facts(config, with_every_partition(std::move(partitions), nodes), nodes);
  const bool any = std::any_of(slurm.partitions.begin(), slurm.partitions.end(),
                               [](const Partition& known) { return !known.node_types.empty(); });
  if (!any)
    return Error{
        ErrorKind::bad_request,
        "neither recorded facts nor the output of Slurm's commands: it has no partition with nodes",
        "dllaunch info --facts > FILE, or without dllaunch: (scontrol show config; "
        "scontrol show partition; scontrol show node; srun --mpi=list) > FILE"};
  slurm.mpi_types = recorded_mpi_types(lines);
  auto reservations = parse_slurm_reservations(lines);
  if (reservations.empty()) reservations = std::move(json.reservations);
  if (!reservations.empty()) slurm.reservations = std::move(reservations);
  return Facts{.host = {}, .slurm = std::move(slurm), .why_no_slurm = {}, .topology = {}};
}

}  // namespace dllaunch
