// Prints the placement of ranks on a node, without a job.
#include <memory>

#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/cli/commands/job_options.hpp"
#include "launcher/cluster/named_topology.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/slurm/host_list.hpp"
#include "support/json.hpp"
#include "topology/placement/placement.hpp"
#include "topology/render/masks.hpp"
#include "topology/render/renderings.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view bind_examples =
    R"(  dllaunch bind                                  one rank per GPU of this machine
  dllaunch bind --ranks 4 --policy spread        four ranks, far from each other
  dllaunch bind --topology node.xml --json       masks for another machine
  srun $(dllaunch bind --format srun) ./app      inside a job that has whole nodes
  dllaunch bind --format numactl > lines         line i+1 goes before local rank i's command:
  mpirun --bind-to none bash -c \
    '$(sed -n $((OMPI_COMM_WORLD_LOCAL_RANK+1))p lines) ./app'
)";

struct BindArguments {
  std::string topology;
  int ranks = 0;
  std::string policy = "closest";
  std::string mode = "cores";
  std::string cores = "auto";
  std::string order = "gpu";
  std::string reserve = "auto";
  bool smt = false;
  std::string format = "table";
  std::string hosts = "localhost";
  bool visible_devices = false;
  bool json = false;
};

Result<PlacementRequest> request_from(const BindArguments& options) {
  auto policy = parse_bind_policy(options.policy);
  if (!policy) return std::move(policy).error();
  if (*policy == BindPolicy::explicit_masks) {
    return Error{ErrorKind::bad_request, "policy explicit takes its masks from a job file",
                 "use --policy closest, or `dllaunch plan` with binding.masks in the job file"};
  }
  auto mode = parse_bind_mode(options.mode);
  if (!mode) return std::move(mode).error();
  auto cores = parse_bind_cores(options.cores);
  if (!cores) return std::move(cores).error();
  auto order = parse_rank_order(options.order);
  if (!order) return std::move(order).error();
  PlacementRequest request;
  request.ranks = options.ranks;
  request.policy = *policy;
  request.mode = *mode;
  request.cores = *cores;
  request.order = *order;
  request.smt = options.smt;
  request.reserve = options.reserve;
  return request;
}

/// What the format cannot express goes to stderr: stdout is for programs.
void show(System& system, const Rendering& made, const Placement& placement, BindFormat format) {
  system.print(made.text);
  if (format != BindFormat::table)
    for (const auto& warning : placement.warnings) system.log("warning: " + warning + "\n");
  for (const auto& note : made.notes) system.log("note: " + note + "\n");
}

Result<int> show_binding(System& system, const BindArguments& options) {
  const auto request = request_from(options);
  if (!request) return request.error();
  const auto format = parse_bind_format(options.format);
  if (!format) return format.error();
  const auto hosts = expand_hosts(options.hosts);
  if (!hosts) return hosts.error();
  const auto topology = named_topology(system, options.topology);
  if (!topology) return topology.error();
  auto placement = place_ranks(*topology, *request);
  if (!placement) return std::move(placement).error();
  if (!placement->idle.empty())
    placement->warnings.push_back(placement->idle +
                                  "; --cores fill assigns them after the near ones");
  if (options.json) {
    system.print(json_text(to_json(*topology, *placement)));
    return exit_code::success;
  }
  const RenderingOptions rendering{.hosts = *hosts, .visible_devices = options.visible_devices};
  show(system, render_binding(*format, *topology, *placement, rendering), *placement, *format);
  return exit_code::success;
}

CommandBody declare_bind(CommandOptions& app) {
  auto options = std::make_shared<BindArguments>();
  add_topology_option(app, options->topology);
  app.add_option("--ranks", options->ranks,
                 "ranks on the node [one per GPU; without GPUs one per NUMA node]")
      ->type_name("N")
      ->range(1, 65536);
  app.add_option("--policy", options->policy,
                 "near the rank's GPU, far from each other, or unbound")
      ->type_name("closest|spread|none")
      ->capture_default_str();
  app.add_option("--mode", options->mode, "a share of the cores, a single core, whole NUMA nodes")
      ->type_name("cores|core|numa")
      ->capture_default_str();
  app.add_option("--cores", options->cores,
                 "only those near the GPU (auto, near), or others too (fill)")
      ->type_name("auto|near|fill")
      ->capture_default_str();
  app.add_flag("--smt", options->smt, "all hardware threads of a core, not only its first");
  app.add_option("--reserve", options->reserve,
                 "CPUs kept free: auto, none, first-core-per-l3 or a list")
      ->type_name("R")
      ->capture_default_str();
  app.add_option("--order", options->order, "number ranks by GPU or along NUMA nodes")
      ->type_name("gpu|numa")
      ->capture_default_str();
  auto* format = app.add_option("--format", options->format, "output format")
                     ->type_name("table|srun|rankfile|numactl|taskset|hwloc-bind|env|script")
                     ->capture_default_str();
  app.add_option("--hosts", options->hosts, "rankfile: the nodes, as n[1-4] or +n0,+n1")
      ->type_name("LIST")
      ->capture_default_str();
  app.add_flag("--visible-devices", options->visible_devices,
               "env, script: hide a rank's other GPUs from it");
  app.add_flag("--json", options->json, "one JSON document")->excludes(format);
  return [options](System& system) { return show_binding(system, *options); };
}

}  // namespace

extern const Command bind_command;
const Command bind_command{"bind", "the CPUs, GPU and NIC of each rank on a node, and why",
                           bind_examples, declare_bind};

}  // namespace dllaunch
