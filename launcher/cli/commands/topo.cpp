// Prints the topology of this node, or of one from a file, or the network between nodes.
#include <memory>

#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/cli/commands/job_options.hpp"
#include "launcher/cli/commands/network/show_network.hpp"
#include "launcher/cluster/named_topology.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/stored_json.hpp"
#include "support/json.hpp"
#include "topology/discovery/discover_hwloc_xml.hpp"
#include "topology/discovery/topology_format.hpp"
#include "topology/render/render_topology.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view topo_examples =
    R"(  dllaunch topo                                  this machine
  dllaunch topo --json > node.json               to plan for it elsewhere, or for a bug report
  dllaunch topo --xml node.xml                   as hwloc XML, for lstopo
  dllaunch topo --topology node.xml              hwloc XML of another machine
  dllaunch topo --topology lumi-g                a node of a cluster that dllaunch knows
  dllaunch topo --network                        the switches or blocks between the nodes
  dllaunch topo --network topology.conf --nodes "n[1-64]"
  dllaunch topo --topology "synthetic:packages:2 numa:4 cores:8 gpus:8"
)";

struct TopoArguments {
  std::string topology;
  std::string xml;
  NetworkOptions network;
  bool json = false;
};

Result<int> write_xml(System& system, const std::string& path) {
  const auto xml = machine_xml();
  if (!xml) return xml.error();
  if (path == "-") {
    system.print(*xml);
    return exit_code::success;
  }
  if (auto written = write_file(path, *xml); !written)
    return Error{ErrorKind::bad_request, written.error().what, "write to another file: --xml FILE"};
  return exit_code::success;
}

Result<int> show_topology(System& system, const TopoArguments& options) {
  if (!options.xml.empty()) return write_xml(system, options.xml);
  if (!options.network.file.empty()) {
    auto network = options.network;
    network.json = options.json;
    return show_network(system, network);
  }
  const auto topology = observed_topology(system, options.topology);
  if (!topology) return topology.error();
  const Console& console = system.console();
  system.print(options.json ? json_text(to_json(*topology))
                            : render_topology(*topology, console.columns, console.color_out));
  return exit_code::success;
}

CommandBody declare_topo(CommandOptions& app) {
  auto options = std::make_shared<TopoArguments>();
  add_topology_option(app, options->topology);
  app.add_option("--xml", options->xml, "write this machine as hwloc XML; - is stdout")
      ->type_name("FILE")
      ->excludes("--topology");
  auto* network = app.add_option("--network", options->network.file,
                                 "the network between nodes: Slurm's, the profile's, or a file")
                      ->value_if_missing(std::string(own_network))
                      ->type_name("[FILE]")
                      ->excludes("--topology")
                      ->excludes("--xml");
  app.add_option("--nodes", options->network.nodes, "of the network: a host list [all]")
      ->type_name("LIST")
      ->needs(network);
  app.add_flag("--json", options->json, "one JSON document")->excludes("--xml");
  return [options](System& system) { return show_topology(system, *options); };
}

}  // namespace

extern const Command topo_command;
const Command topo_command{"topo", "a node as a tree, with its GPUs, NICs and NUMA nodes",
                           topo_examples, declare_topo, /*pages=*/true};

}  // namespace dllaunch
