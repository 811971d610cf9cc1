#include "launcher/named_topology.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "topology/topology_format.hpp"

namespace dllaunch {

void add_topology_option(CLI::App& app, std::string& name) {
  app.add_option("--topology", name,
                 "hwloc XML, JSON of `topo --json`, or synthetic:...; else this machine")
      ->type_name("X");
}

Result<Topology> named_topology(World& world, const std::string& name) {
  return name.empty() ? world.topology() : load_topology(name);
}

}  // namespace dllaunch
