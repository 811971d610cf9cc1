#include "launcher/cli/commands/topology_option.hpp"

#include "launcher/cli/command_options.hpp"

namespace dllaunch {

void add_topology_option(CommandOptions& app, std::string& name) {
  app.add_option("--topology", name,
                 "XML, topo's JSON, CLUSTER, probed:..., synthetic:... [this machine]")
      ->type_name("X");
}

}  // namespace dllaunch
