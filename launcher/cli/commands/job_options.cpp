#include "launcher/cli/commands/job_options.hpp"

namespace dllaunch {
namespace {

constexpr const char* cluster_help = "for this cluster: a profile's name or file";

}  // namespace

void add_sets(CommandOptions& app, std::vector<std::string>& sets, const std::string& what) {
  app.add_option("--set", sets, "change one key of " + what + "; may be repeated")
      ->type_name("KEY.PATH=VALUE")
      ->take_all()
      ->allow_extra_args(false);
}

void add_job_options(CommandOptions& app, std::string& file, std::vector<std::string>& sets,
                     const std::string& help) {
  app.add_option("JOB.yaml", file, help)->required();
  add_sets(app, sets);
  app.add_option(
         "--cluster", [&sets](const std::string& name) { sets.push_back("cluster=" + name); },
         cluster_help)
      ->type_name("NAME");
}

void add_cluster(CommandOptions& app, std::string& cluster) {
  app.add_option("--cluster", cluster, cluster_help)->type_name("NAME");
}

void add_topology_option(CommandOptions& app, std::string& name) {
  app.add_option("--topology", name,
                 "XML, topo's JSON, CLUSTER, probed:..., synthetic:... [this machine]")
      ->type_name("X");
}

}  // namespace dllaunch
