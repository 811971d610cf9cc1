// The shape of a node: this one, or one from a file.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "launcher/named_topology.hpp"
#include "launcher/verb.hpp"
#include "topology/topology_format.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view examples =
    R"(  dllaunch topo                                  this machine
  dllaunch topo --json > node.json               to plan for it elsewhere, or for a bug report
  dllaunch topo --topology node.xml              hwloc XML of another machine
  dllaunch topo --topology "synthetic:packages:2 numa:4 cores:8 gpus:8"
)";

struct Options {
  std::string topology;
  bool json = false;
};

Result<int> show_topology(World& world, const Options& options) {
  const auto topology = named_topology(world, options.topology);
  if (!topology) return topology.error();
  const Console& console = world.console();
  world.print(options.json ? to_json(*topology).dump(2) + "\n"
                           : render_topology(*topology, console.columns, console.color_out));
  return exit_code::success;
}

VerbBody declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_topology_option(app, options->topology);
  app.add_flag("--json", options->json, "one JSON document");
  return [options](World& world) { return show_topology(world, *options); };
}

}  // namespace

extern const Verb topo_verb;
const Verb topo_verb{"topo", "a node as a tree, with its GPUs, NICs and NUMA nodes", examples,
                     declare};

}  // namespace dllaunch
