// Checks a user's sbatch script and reports problems.
#include <algorithm>
#include <memory>

#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/cli/commands/job_options.hpp"
#include "launcher/cli/commands/network/show_network.hpp"
#include "launcher/cluster/named_topology.hpp"
#include "launcher/lint/lint.hpp"
#include "launcher/lint/unified_diff.hpp"
#include "launcher/slurm/input_variables.hpp"
#include "launcher/slurm/option_overrides.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view lint_examples =
    R"(  dllaunch lint job.sbatch                       problems with sbatch options and in the job
  dllaunch lint job.sbatch --cluster lumi-g      also check its masks against that cluster's nodes
  dllaunch lint job.sbatch --fix | patch job.sbatch
)";

struct LintArguments {
  std::string script;
  std::string topology;
  std::string cluster;
  std::string network;
  bool fix = false;
  bool json = false;
};

/// Relative paths are resolved against the directory of the sbatch call: this one, or the script's.
lint::Surroundings surroundings(System& system, const std::string& script) {
  const std::size_t slash = script.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : script.substr(0, slash + 1);
  lint::Surroundings around;
  around.is_folder = [&system, folder](const std::string& path) {
    return system.is_folder(path) || (!path.starts_with('/') && system.is_folder(folder + path));
  };
  return around;
}

/// Empty: the script names none.
std::string partition_of(std::string_view script) {
  for (const auto& line : options_of_script(script))
    if (const auto option = option_of_line(line); option && option->first == "--partition")
      return option->second;
  return "";
}

Result<int> check_script(System& system, const LintArguments& options) {
  auto text = system.read_file(options.script);
  if (!text)
    return Error{ErrorKind::bad_request, text.error().what, "give the path of an sbatch script"};
  lint::Surroundings around = surroundings(system, options.script);
  if (!options.topology.empty()) {
    auto topology = named_topology(system, options.topology);
    if (!topology) return std::move(topology).error();
    around.topology = *std::move(topology);
    around.host_suffix = host_suffix_of(system, options.topology);
  }
  if (!options.cluster.empty()) {
    auto topology = cluster_topology(system, options.cluster, partition_of(*text));
    if (!topology) return std::move(topology).error();
    around.topology = *std::move(topology);
  }
  if (!options.network.empty()) {
    auto network = network_of(system, options.network);
    if (!network) return std::move(network).error();
    around.network = *std::move(network);
  }
  const auto findings = lint::lint(*text, around);
  const std::string fixed = options.fix ? lint::corrected(*text, around) : *text;
  const std::string diff = lint::unified_diff(options.script, *text, fixed);
  const auto shown = [&](bool color) {
    return lint::render_findings(options.script, *text, findings, color);
  };
  if (options.json) {
    system.print(lint::findings_json(options.script, *text, findings, diff));
  } else if (options.fix) {
    system.log(shown(system.console().color_err));
    system.print(diff);
  } else {
    system.print(shown(system.console().color_out));
  }
  const bool failed = std::ranges::any_of(findings, [](const lint::Finding& finding) {
    return finding.severity == lint::Severity::error;
  });
  return failed ? exit_code::found_problems : exit_code::success;
}

CommandBody declare_lint(CommandOptions& app) {
  auto options = std::make_shared<LintArguments>();
  app.add_option("SCRIPT.sbatch", options->script, "the script, as passed to sbatch")->required();
  add_cluster(app, options->cluster);
  app.add_option("--topology", options->topology,
                 "the nodes it will run on: CLUSTER[:PARTITION], hwloc XML, topo's JSON, ...")
      ->type_name("X")
      ->excludes("--cluster");
  app.add_option("--network", options->network,
                 "the network between them: this cluster's, or topology.conf, ...")
      ->value_if_missing(std::string(own_network))
      ->type_name("[FILE]");
  app.add_flag("--fix", options->fix,
               "print safe corrections as a diff for patch(1); findings go to stderr");
  app.add_flag("--json", options->json, "one JSON document");
  return [options](System& system) { return check_script(system, *options); };
}

}  // namespace

extern const Command lint_command;
const Command lint_command{"lint", "check an sbatch script, and suggest corrections", lint_examples,
                           declare_lint};

}  // namespace dllaunch
