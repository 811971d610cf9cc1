// Which CPUs each rank of a node would get: the placement, without a job.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "launcher/named_topology.hpp"
#include "launcher/verb.hpp"
#include "topology/masks.hpp"
#include "topology/placement.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view examples =
    R"(  dllaunch bind                                  one rank per GPU of this machine
  dllaunch bind --ranks 4 --policy spread        four ranks, far from each other
  dllaunch bind --topology node.xml --json       masks for another machine, for a script
)";

struct Options {
  std::string topology;
  int ranks = 0;
  std::string policy = "closest";
  std::string mode = "cores";
  std::string order = "gpu";
  std::string reserve = "auto";
  bool smt = false;
  bool json = false;
};

Result<PlacementRequest> request_from(const Options& options) {
  auto policy = parse_bind_policy(options.policy);
  if (!policy) return std::move(policy).error();
  if (*policy == BindPolicy::explicit_masks) {
    return Error{ErrorKind::bad_request, "policy explicit takes its masks from a job file",
                 "--policy closest, or `dllaunch plan` with binding.masks in the job file"};
  }
  auto mode = parse_bind_mode(options.mode);
  if (!mode) return std::move(mode).error();
  auto order = parse_rank_order(options.order);
  if (!order) return std::move(order).error();
  PlacementRequest request;
  request.ranks = options.ranks;
  request.policy = *policy;
  request.mode = *mode;
  request.order = *order;
  request.smt = options.smt;
  request.reserve = options.reserve;
  return request;
}

Result<int> show_binding(World& world, const Options& options) {
  const auto request = request_from(options);
  if (!request) return request.error();
  const auto topology = named_topology(world, options.topology);
  if (!topology) return topology.error();
  const auto placement = place_ranks(*topology, *request);
  if (!placement) return placement.error();
  world.print(options.json ? to_json(*topology, *placement).dump(2) + "\n"
                           : render_placement(*topology, *placement));
  return exit_code::success;
}

VerbBody declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_topology_option(app, options->topology);
  app.add_option("--ranks", options->ranks,
                 "ranks on the node; else one per GPU, without GPUs one per NUMA node")
      ->type_name("N")
      ->check(CLI::Range(1, 65536).description(""));
  app.add_option("--policy", options->policy,
                 "near the rank's GPU, far from each other, or nowhere")
      ->type_name("closest|spread|none")
      ->capture_default_str();
  app.add_option("--mode", options->mode, "a share of the cores, a single core, whole NUMA nodes")
      ->type_name("cores|core|numa")
      ->capture_default_str();
  app.add_flag("--smt", options->smt, "all hardware threads of a core, not only its first");
  app.add_option("--reserve", options->reserve,
                 "CPUs kept free: auto, none, first-core-per-l3 or a list")
      ->type_name("R")
      ->capture_default_str();
  app.add_option("--order", options->order, "number ranks by GPU or along NUMA nodes")
      ->type_name("gpu|numa")
      ->capture_default_str();
  app.add_flag("--json", options->json, "one JSON document");
  return [options](World& world) { return show_binding(world, *options); };
}

}  // namespace

extern const Verb bind_verb;
const Verb bind_verb{"bind", "the CPUs, GPU and NIC of each rank on a node, and why", examples,
                     declare};

}  // namespace dllaunch
