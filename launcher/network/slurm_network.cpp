#include "launcher/network/slurm_network.hpp"

#include "launcher/network/read_network.hpp"
#include "launcher/network/slurm_topology.hpp"
#include "launcher/slurm/client.hpp"

namespace dllaunch {

Network slurm_network(System& system, const std::string& version) {
  if (!system.find_program("scontrol")) return {};
  const auto text = topology_text(system);
  if (!is_slurm_topology(text)) return {};
  return read_slurm_topology(text,
                             "the topology of Slurm" + (version.empty() ? "" : " " + version));
}

Network job_network(System& system, const Json& block) {
  auto network = slurm_network(system);
  if (!network.units.empty() || block.is_null()) return network;
  auto described = read_network(Json{{"network", block}}.dump(), "the cluster's profile");
  return described ? *std::move(described) : network;
}

}  // namespace dllaunch
