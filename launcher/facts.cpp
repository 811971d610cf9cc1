#include "launcher/facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <utility>

#include "launcher/slurm_text.hpp"

namespace dllaunch {
namespace {

constexpr std::chrono::milliseconds limit{10000};  // a healthy controller answers within one second

bool alike(const NodeType& type, const SlurmNode& node) {
  return type.cpus == node.cpus && type.sockets == node.sockets &&
         type.cores_per_socket == node.cores_per_socket &&
         type.threads_per_core == node.threads_per_core && type.memory_mib == node.memory_mib &&
         type.gpus == node.gpus && type.gpu_type == node.gpu_type && type.features == node.features;
}

void add(std::vector<NodeType>& types, const SlurmNode& node) {
  auto type = std::find_if(types.begin(), types.end(),
                           [&node](const NodeType& known) { return alike(known, node); });
  if (type == types.end()) {
    type = types.insert(types.end(), NodeType{.hosts = {},
                                              .cpus = node.cpus,
                                              .sockets = node.sockets,
                                              .cores_per_socket = node.cores_per_socket,
                                              .threads_per_core = node.threads_per_core,
                                              .memory_mib = node.memory_mib,
                                              .gpus = node.gpus,
                                              .gpu_type = node.gpu_type,
                                              .features = node.features});
  }
  type->hosts.push_back(node.name);
}

std::vector<Partition> grouped(const std::vector<SlurmPartition>& shown,
                               const std::vector<SlurmNode>& nodes) {
  std::vector<Partition> partitions;
  std::map<std::string, std::size_t> position;
  for (const auto& partition : shown) {
    position.emplace(partition.name, partitions.size());
    partitions.push_back({.name = partition.name,
                          .is_default = partition.is_default,
                          .up = partition.up,
                          .max_minutes = partition.max_minutes,
                          .node_types = {}});
  }
  for (const auto& node : nodes)
    for (const auto& name : node.partitions)
      if (const auto found = position.find(name); found != position.end())
        add(partitions[found->second].node_types, node);
  return partitions;
}

/// The package is installed, but this machine belongs to no cluster. Seen: a look-up in DNS for a
/// controller that is not there; before 20.02 only a missing slurm.conf.
bool says_not_configured(std::string_view text) {
  constexpr std::array<std::string_view, 3> signs = {"Could not establish a configuration source",
                                                     "DNS SRV lookup failed",
                                                     "unable to status file /etc/slurm"};
  return std::any_of(signs.begin(), signs.end(), [text](std::string_view sign) {
    return text.find(sign) != std::string_view::npos;
  });
}

std::string_view last_line(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text.substr(text.rfind('\n') + 1);
}

Error silent(std::string_view command, std::string_view why, ErrorKind kind) {
  return Error{kind, fmt::format("slurm is configured here, but `{}` failed: {}", command, why),
               "try again, or start on this machine alone with --local"};
}

/// What a command printed; an error when it did not end well.
Result<std::string> ask(World& world, const std::vector<std::string>& argv) {
  auto output = world.run(argv, limit);
  const auto command = fmt::format("{}", fmt::join(argv, " "));
  if (!output) return silent(command, output.error().what, output.error().kind);
  if (output->exit_code != 0)
    return silent(command,
                  output->err.empty() ? fmt::format("exit code {}", output->exit_code)
                                      : std::string(last_line(output->err)),
                  ErrorKind::unavailable);
  return std::move(output->out);
}

/// Five commands: who the cluster is, its partitions, its nodes, how srun can start MPI.
Result<SlurmFacts> observe_slurm(World& world, std::string_view config_text) {
  const auto config = parse_slurm_config(config_text);
  auto partitions = ask(world, {"scontrol", "--oneliner", "show", "partition"});
  if (!partitions) return std::move(partitions).error();
  auto nodes = ask(world, {"scontrol", "--oneliner", "show", "node"});
  if (!nodes) return std::move(nodes).error();
  SlurmFacts slurm{
      .version = config.version,
      .cluster = config.cluster,
      .mpi_types = {},
      .mpi_default = config.mpi_default,
      .partitions = grouped(parse_slurm_partitions(*partitions), parse_slurm_nodes(*nodes))};
  // A login node whose srun cannot list its plug-ins can still submit jobs.
  if (auto types = world.run({"srun", "--mpi=list"}, limit); types && types->exit_code == 0)
    slurm.mpi_types = parse_mpi_list(types->out + "\n" + types->err);
  // Pyxis adds its options to srun's own help.
  if (auto help = world.run({"srun", "--help"}, limit); help && help->exit_code == 0)
    slurm.pyxis = help->out.find("--container-image") != std::string::npos;
  return slurm;
}

}  // namespace

Result<Facts> observe(World& world) {
  Facts facts{.host = world.host_name(), .slurm = {}, .why_no_slurm = {}, .topology = {}};
  facts.time = std::time(nullptr);
  if (!world.find_program("sinfo") || !world.find_program("scontrol")) {
    facts.why_no_slurm = "sinfo is not installed";
  } else {
    auto config = world.run({"scontrol", "show", "config"}, limit);
    if (!config) return silent("scontrol show config", config.error().what, config.error().kind);
    if (config->exit_code == 0) {
      auto slurm = observe_slurm(world, config->out);
      if (!slurm) return std::move(slurm).error();
      // The topology stays unknown: a login node is the wrong machine to read it on.
      facts.slurm = *std::move(slurm);
      return facts;
    }
    if (!says_not_configured(config->err))
      return silent("scontrol show config", last_line(config->err), ErrorKind::unavailable);
    facts.why_no_slurm = "slurm is installed, but this machine belongs to no cluster";
  }
  auto topology = world.topology();
  if (!topology) return std::move(topology).error();
  facts.topology = *std::move(topology);
  return facts;
}

Result<Facts> observe_local(World& world) {
  auto topology = world.topology();
  if (!topology) return std::move(topology).error();
  return Facts{.host = world.host_name(),
               .slurm = {},
               .why_no_slurm = "it was not asked",
               .topology = *std::move(topology),
               .probed = {},
               .time = std::time(nullptr)};
}

}  // namespace dllaunch
