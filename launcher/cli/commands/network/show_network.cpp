#include "launcher/cli/commands/network/show_network.hpp"

#include <algorithm>
#include <utility>

#include "launcher/base/exit_code.hpp"
#include "launcher/cluster/cluster_profile.hpp"
#include "launcher/launch/prepare_job.hpp"
#include "launcher/network/draw_network.hpp"
#include "launcher/network/read_network.hpp"
#include "launcher/network/slurm_network.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/slurm/host_list.hpp"
#include "topology/network/natural_order.hpp"

namespace dllaunch {
namespace {

Result<Network> own_network_of(System& system) {
  auto network = slurm_network(system);
  if (!network.leaf_of.empty() || !network.warnings.empty()) return network;
  const auto facts = find_facts(system, {});
  if (facts && facts->profile && !facts->profile->network.leaf_of.empty())
    return facts->profile->network;
  return Error{ErrorKind::unsatisfiable,
               "neither Slurm nor a cluster profile describes the network here",
               "give a file: dllaunch topo --network topology.conf"};
}

}  // namespace

Result<Network> network_of(System& system, const std::string& file) {
  if (file == own_network) return own_network_of(system);
  const auto text = system.read_file(file);
  if (!text) return text.error();
  return read_network(*text, file);
}

Result<int> show_network(System& system, const NetworkOptions& options) {
  const auto network = network_of(system, options.file);
  if (!network) return network.error();
  auto listed = expand_hosts(options.nodes);
  if (!listed) return std::move(listed).error().within("--nodes");
  auto nodes = *std::move(listed);
  if (options.nodes.empty()) {
    for (const auto& [node, leaf] : network->leaf_of) nodes.push_back(node);
    std::ranges::sort(nodes, counts_before);
  }
  const auto ordered = order_nodes(*network, std::move(nodes));
  for (const auto& warning : network->warnings)
    system.log("dllaunch: " + network->source + ": " + warning + "\n");
  system.print(options.json ? json_text(to_json(*network, ordered))
                            : draw_network(*network, ordered));
  return exit_code::success;
}

}  // namespace dllaunch
