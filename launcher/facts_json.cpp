#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "launcher/facts.hpp"
#include "launcher/probed_node.hpp"
#include "topology/topology_format.hpp"

namespace dllaunch {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const Partition& partition) {
  ordered_json types = ordered_json::array();
  for (const auto& type : partition.node_types) types.push_back(to_json(type));
  return {{"name", partition.name},
          {"default", partition.is_default},
          {"up", partition.up},
          {"max_minutes",
           partition.max_minutes ? ordered_json(*partition.max_minutes) : ordered_json(nullptr)},
          {"node_types", std::move(types)}};
}

ordered_json to_json(const SlurmFacts& slurm) {
  ordered_json partitions = ordered_json::array();
  for (const auto& partition : slurm.partitions) partitions.push_back(to_json(partition));
  return {{"version", slurm.version},
          {"cluster", slurm.cluster},
          {"mpi_types", slurm.mpi_types},
          {"mpi_default", slurm.mpi_default},
          {"pyxis", slurm.pyxis},
          {"partitions", std::move(partitions)}};
}

template <typename T>
T value_or(const ordered_json& object, const char* key, T otherwise) {
  return object.contains(key) ? object.at(key).get<T>() : otherwise;
}

Result<Partition> partition_of(const ordered_json& object) {
  Partition partition{.name = object.at("name").get<std::string>(),
                      .is_default = value_or(object, "default", false),
                      .up = value_or(object, "up", true),
                      .max_minutes = {},
                      .node_types = {}};
  if (object.contains("max_minutes") && !object.at("max_minutes").is_null())
    partition.max_minutes = object.at("max_minutes").get<int>();
  for (const auto& item : value_or(object, "node_types", ordered_json::array())) {
    auto type = node_type_from_json(item);
    if (!type) return std::move(type).error().within(partition.name);
    partition.node_types.push_back(*std::move(type));
  }
  return partition;
}

Result<SlurmFacts> slurm_of(const ordered_json& object) {
  if (!object.is_object()) return Error{ErrorKind::bad_request, "slurm: not an object", ""};
  SlurmFacts slurm{.version = value_or<std::string>(object, "version", ""),
                   .cluster = value_or<std::string>(object, "cluster", ""),
                   .mpi_types = value_or<std::vector<std::string>>(object, "mpi_types", {}),
                   .mpi_default = value_or<std::string>(object, "mpi_default", ""),
                   .pyxis = value_or(object, "pyxis", false),
                   .partitions = {}};
  for (const auto& item : value_or(object, "partitions", ordered_json::array())) {
    auto partition = partition_of(item);
    if (!partition) return std::move(partition).error();
    slurm.partitions.push_back(*std::move(partition));
  }
  return slurm;
}

Result<Facts> read(const ordered_json& document) {
  Facts facts{.host = value_or<std::string>(document, "host", ""),
              .slurm = {},
              .why_no_slurm = value_or<std::string>(document, "why_no_slurm", ""),
              .topology = {},
              .probed = {},
              .time = value_or<std::int64_t>(document, "time", 0)};
  if (document.contains("slurm") && !document.at("slurm").is_null()) {
    auto slurm = slurm_of(document.at("slurm"));
    if (!slurm) return std::move(slurm).error();
    facts.slurm = *std::move(slurm);
  }
  if (document.contains("topology") && !document.at("topology").is_null()) {
    auto topology = topology_from_json(document.at("topology"));
    if (!topology) return std::move(topology).error().within("topology");
    facts.topology = *std::move(topology);
  }
  for (const auto& item : value_or(document, "probed", ordered_json::array())) {
    auto node = probed_node_from_json(item);
    if (!node) return std::move(node).error().within("probed");
    facts.probed.push_back(*std::move(node));
  }
  return facts;
}

}  // namespace

ordered_json to_json(const Facts& facts) {
  ordered_json probed = ordered_json::array();
  for (const auto& node : facts.probed) probed.push_back(to_json(node));
  return {{"host", facts.host},
          {"time", facts.time},
          {"slurm", facts.slurm ? to_json(*facts.slurm) : ordered_json(nullptr)},
          {"why_no_slurm", facts.why_no_slurm},
          {"topology", facts.topology ? to_json(*facts.topology) : ordered_json(nullptr)},
          {"probed", std::move(probed)}};
}

Result<Facts> facts_from_json(const ordered_json& document) {
  if (!document.is_object()) return Error{ErrorKind::bad_request, "facts: not a JSON object", ""};
  try {
    auto facts = read(document);
    if (!facts) return std::move(facts).error().within("facts");
    return facts;
  } catch (const nlohmann::json::exception& problem) {
    return Error{ErrorKind::bad_request, fmt::format("facts: {}", problem.what()), ""};
  }
}

}  // namespace dllaunch
