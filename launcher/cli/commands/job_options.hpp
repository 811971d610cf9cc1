// What several commands take: a job file, changes of its keys, a cluster, a node.
#pragma once

#include <string>
#include <vector>

#include "launcher/cli/command_options.hpp"

namespace dllaunch {

/// --set, of the file called `what`.
void add_sets(CommandOptions& app, std::vector<std::string>& sets,
              const std::string& what = "the job file");
/// JOB.yaml, --set and --cluster, which is --set cluster=NAME.
void add_job_options(CommandOptions& app, std::string& file, std::vector<std::string>& sets,
                     const std::string& help = "the job file");
/// --cluster, for commands without a job file.
void add_cluster(CommandOptions& app, std::string& cluster);
/// --topology NAME, of named_topology().
void add_topology_option(CommandOptions& app, std::string& name);

}  // namespace dllaunch
