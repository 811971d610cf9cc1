#include "launcher/cli/commands/topology_option.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace dllaunch {

void add_topology_option(CLI::App& app, std::string& name) {
  app.add_option("--topology", name,
                 "XML, topo's JSON, CLUSTER, probed:..., synthetic:... [this machine]")
      ->type_name("X");
}

}  // namespace dllaunch
