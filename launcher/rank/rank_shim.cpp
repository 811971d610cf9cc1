#include "launcher/rank/rank_shim.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "launcher/os/stored_json.hpp"
#include "launcher/plan/plan.hpp"
#include "topology/diagnosis/visible_gpus.hpp"

namespace dllaunch {
namespace {

int cores_in(const Topology& node, const IdSet& cpus) {
  const auto count = std::count_if(node.cores.begin(), node.cores.end(),
                                   [&](const Core& core) { return core.cpus.intersects(cpus); });
  return std::max(1, static_cast<int>(count));
}

IdSet real_cpus(const Topology& node) {
  return node.allowed_cpus.empty() ? node.cpus() : node.allowed_cpus;
}

int fair_share(const RankContext& context) {
  return std::max(
      1, cores_in(context.node, context.current) / std::max(1, context.rank.local_world_size));
}

bool fits(const PlannedBinding& planned, const RankContext& context) {
  if (static_cast<int>(planned.masks.size()) != context.rank.local_world_size) return false;
  const IdSet allowed = real_cpus(context.node);
  return std::all_of(planned.masks.begin(), planned.masks.end(),
                     [&](const IdSet& mask) { return !mask.empty() && allowed.contains(mask); });
}

bool all_among(const PlannedBinding& planned, const std::set<std::string>& there) {
  return std::ranges::all_of(planned.gpus, [&](const auto& of_rank) {
    return std::ranges::all_of(of_rank, [&](const auto& pci) { return there.contains(pci); });
  });
}

/// Whether the GPUs near which the plan placed the ranks are the visible ones.
bool sees_planned_gpus(const PlannedBinding& planned, const RankContext& context) {
  if (!context.some_gpus) return true;
  std::set<std::string> seen;
  for (const int gpu : context.gpus)
    seen.insert(context.node.gpus[static_cast<std::size_t>(gpu)].pci);
  return all_among(planned, seen);
}

/// The same for a plan that names GPUs present on this node.
bool has_planned_gpus(const PlannedBinding& planned, const RankContext& context) {
  if (!planned.exact || std::ssize(planned.gpus) != context.rank.local_world_size) return false;
  std::set<std::string> there;
  for (const Gpu& gpu : context.node.gpus) there.insert(gpu.pci);
  return all_among(planned, there) && sees_planned_gpus(planned, context);
}

/// Returns the node with only the visible GPUs, in the order of their numbers.
Topology seen_node(const RankContext& context) {
  Topology node = context.node;
  if (!context.some_gpus) return node;
  node.gpus.clear();
  for (const int gpu : context.gpus)
    node.gpus.push_back(context.node.gpus[static_cast<std::size_t>(gpu)]);
  return node;
}

RankBinding as_it_is(const RankContext& context, std::string note) {
  const int cores = cores_in(context.node, context.current);
  return {.cpus = {},
          .cores = cores,
          .shared = !context.bound_by_slurm && cores < context.rank.local_world_size,
          .note = std::move(note)};
}

/// Whether another rank's mask shares a CPU with that of `local`.
bool overlaps(const std::vector<IdSet>& masks, std::size_t local) {
  for (std::size_t other = 0; other < masks.size(); ++other) {
    if (other != local && masks[other].intersects(masks[local])) return true;
  }
  return false;
}

RankBinding bound_to(const RankContext& context, const std::vector<IdSet>& masks,
                     std::string note) {
  const auto local = static_cast<std::size_t>(context.rank.local_rank);
  return {.cpus = masks[local],
          .cores = cores_in(context.node, masks[local]),
          .shared = overlaps(masks, local),
          .note = std::move(note)};
}

}  // namespace

Result<PlannedBinding> read_planned_binding(std::string_view plan_json) {
  auto plan = bound_plan_from_json(json_object_in(plan_json));
  if (!plan) return std::move(plan).error();
  PlannedBinding planned{.request = plan->request,
                         .exact = plan->exact,
                         .framework = plan->framework,
                         .site = {.node_folders = std::move(plan->node_folders),
                                  .host_suffix = std::move(plan->host_suffix)},
                         .left_alone = std::move(plan->left_alone)};
  for (auto& rank : plan->placement.ranks) {
    auto& gpus = planned.gpus.emplace_back();
    for (const int gpu : rank.gpus) {
      const auto& pci = plan->topology.gpus[static_cast<std::size_t>(gpu)].pci;
      if (!pci.empty()) gpus.push_back(pci);
    }
    planned.nics.push_back(std::move(rank.nic));
    if (planned.request.policy != BindPolicy::none) planned.masks.push_back(std::move(rank.cpus));
  }
  return planned;
}

bool bound_by_slurm(const EnvLookup& lookup, const RankEnv& rank) {
  const std::string type = lookup("SLURM_CPU_BIND_TYPE").value_or("");
  if (rank.launcher != "slurm" || type.empty() || type.find("none") != std::string::npos)
    return false;
  const std::string list = lookup("SLURM_CPU_BIND_LIST").value_or("");
  return type.find("mask_cpu") == std::string::npos || list.find(',') != std::string::npos;
}

RankBinding choose_binding(const PlannedBinding& planned, const RankContext& context) {
  const auto& rank = context.rank;
  if (planned.request.policy == BindPolicy::none) {
    auto unbound = as_it_is(context, "");
    unbound.cores = fair_share(context);
    return unbound;
  }
  const auto local = static_cast<std::size_t>(rank.local_rank);
  const IdSet wanted = local < planned.masks.size() ? planned.masks[local] : IdSet();
  const bool same_count = static_cast<int>(planned.masks.size()) == rank.local_world_size;
  // srun binds each task separately: only this task's mask can be compared.
  if (context.bound_by_slurm && same_count && context.current == wanted) {
    return bound_to(context, planned.masks, "");
  }
  const bool fit = fits(planned, context);
  const bool known = planned.request.policy == BindPolicy::explicit_masks ||
                     (planned.exact && sees_planned_gpus(planned, context));
  if (fit && known) return bound_to(context, planned.masks, "");
  const std::string where = fmt::format("rank {} on {}", rank.rank, context.host);
  if (context.bound_by_slurm) {
    return as_it_is(context, fmt::format("{}: planned CPUs {}, srun gave {}: kept those", where,
                                         to_list(wanted), to_list(context.current)));
  }
  PlacementRequest request = planned.request;
  request.ranks = rank.local_world_size;
  request.masks.clear();
  if (request.policy == BindPolicy::explicit_masks) request.policy = BindPolicy::closest;
  const Topology node = seen_node(context);
  request.gpus = std::min<int>(request.gpus, static_cast<int>(std::ssize(node.gpus)));
  auto placed = place_ranks(node, request);
  if (!placed || local >= placed->ranks.size()) {
    if (fit) return bound_to(context, planned.masks, "");
    return as_it_is(
        context, fmt::format("{}: cannot bind ({}): left on CPUs {}", where,
                             placed ? "no place" : placed.error().what, to_list(context.current)));
  }
  std::vector<IdSet> masks;
  for (auto& placed_rank : placed->ranks) masks.push_back(std::move(placed_rank.cpus));
  // The plan left the placement to each rank: no note.
  if (!known) return bound_to(context, masks, "");
  return bound_to(context, masks,
                  fmt::format("{}: planned CPUs {}, this node allows {}: bound to {}", where,
                              wanted.empty() ? "unknown" : to_list(wanted),
                              to_list(real_cpus(context.node)), to_list(masks[local])));
}

std::vector<std::string> choose_gpus(const PlannedBinding& planned, const RankContext& seen) {
  const auto local = static_cast<std::size_t>(seen.rank.local_rank);
  if (planned.request.gpus == 0 || seen.gpus_unknown) return {};
  // An integrated GPU of another vendor is not used by ranks.
  RankContext context = seen;
  const bool others = !seen.gpus.empty() && seen.gpus.size() < seen.node.gpus.size();
  context.some_gpus = seen.some_gpus || others;
  if (has_planned_gpus(planned, context)) return planned.gpus[local];
  PlacementRequest request = planned.request;
  request.ranks = context.rank.local_world_size;
  request.masks.clear();
  // Use the whole node's CPUs: under srun the allowed CPUs differ between ranks.
  if (request.policy == BindPolicy::explicit_masks) request.policy = BindPolicy::closest;
  request.cores_per_rank = 0;
  request.reserve = "none";
  Topology node = seen_node(context);
  node.allowed_cpus = node.cpus();
  request.gpus = std::min<int>(request.gpus, static_cast<int>(std::ssize(node.gpus)));
  const auto placed = place_ranks(node, request);
  std::vector<std::string> gpus;
  if (!placed || local >= placed->ranks.size()) return gpus;
  for (const int gpu : placed->ranks[local].gpus) {
    const auto& pci = node.gpus[static_cast<std::size_t>(gpu)].pci;
    if (!pci.empty()) gpus.push_back(pci);
  }
  return gpus;
}

std::string choose_nic(const PlannedBinding& planned, const RankContext& context,
                       const std::vector<std::string>& gpus) {
  const auto local = static_cast<std::size_t>(context.rank.local_rank);
  if (local >= planned.nics.size()) return "";
  if (local < planned.gpus.size() && gpus != planned.gpus[local]) return "";
  const std::string& nic = planned.nics[local];
  const bool fast = std::ranges::any_of(
      context.node.nics, [&](const Nic& here) { return here.fabric && here.name == nic; });
  return fast ? nic : "";
}

namespace {

/// With device cgroups, numbers start at 0 again and do not identify addresses. Slurm sets the
/// node's own numbers beside them (gres.conf, ConstrainDevices), a container runtime the list of
/// devices it passed in.
bool is_renumbered(const EnvLookup& lookup) {
  const auto container = lookup("NVIDIA_VISIBLE_DEVICES").value_or("all");
  if (container != "all" && container != "void" && !container.empty()) return true;
  const auto visible = lookup("CUDA_VISIBLE_DEVICES");
  const auto step = lookup("SLURM_STEP_GPUS");
  const auto own = step ? step : lookup("SLURM_JOB_GPUS");
  return visible && own && *visible != *own;
}

}  // namespace

std::string own_mig_instance(const std::string& visible, int local_rank) {
  std::vector<std::string> instances;
  std::istringstream list(visible);
  for (std::string one; std::getline(list, one, ',');) {
    if (!one.starts_with("MIG-")) return visible;
    instances.push_back(one);
  }
  if (instances.empty()) return visible;
  return instances[static_cast<std::size_t>(local_rank) % instances.size()];
}

void see_gpus(const EnvLookup& lookup, RankContext& context) {
  RankObservation observation{.rank = context.rank.rank,
                              .world_size = context.rank.world_size,
                              .local_rank = context.rank.local_rank,
                              .local_world_size = context.rank.local_world_size};
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                           "ZE_AFFINITY_MASK", "SLURMD_TRES_BIND"}) {
    if (auto value = lookup(name)) observation.environment[name] = *std::move(value);
  }
  const auto visible = visible_gpus(context.node, observation);
  context.gpus = visible.gpus;
  context.gpu_count = visible.count;
  const bool told = !visible.variable.empty();
  context.gpus_unknown =
      !visible.identified || (told && visible.gpus.empty()) || is_renumbered(lookup);
  context.some_gpus = visible.identified && told && !visible.gpus.empty();
}

std::vector<std::pair<std::string, std::string>> rank_variables(const RankEnv& rank,
                                                                const RankBinding& binding,
                                                                const std::string& run_dir,
                                                                const EnvLookup& lookup) {
  std::vector<std::pair<std::string, std::string>> all = {
      {"RANK", std::to_string(rank.rank)},
      {"LOCAL_RANK", std::to_string(rank.local_rank)},
      {"WORLD_SIZE", std::to_string(rank.world_size)},
      {"LOCAL_WORLD_SIZE", std::to_string(rank.local_world_size)}};
  if (rank.node_rank >= 0) all.emplace_back("NODE_RANK", std::to_string(rank.node_rank));
  if (!lookup("OMP_NUM_THREADS")) {
    all.emplace_back("OMP_NUM_THREADS", std::to_string(binding.cores));
  }
  if (binding.shared && !lookup("OMP_WAIT_POLICY")) all.emplace_back("OMP_WAIT_POLICY", "passive");
  // Otherwise Python keeps 8 KiB back when it writes to a file: a log shows nothing for minutes,
  // and the last lines are lost when the rank is killed.
  if (!lookup("PYTHONUNBUFFERED")) all.emplace_back("PYTHONUNBUFFERED", "1");
  if (!run_dir.empty()) all.emplace_back("DLLAUNCH_RUN_DIR", run_dir);
  if (!binding.gpus.empty()) {
    all.emplace_back("DLLAUNCH_GPUS", fmt::format("{}", fmt::join(binding.gpus, ",")));
  }
  if (!binding.nic.empty()) all.emplace_back("DLLAUNCH_NIC", binding.nic);
  if (const auto visible = lookup("CUDA_VISIBLE_DEVICES")) {
    const auto own = own_mig_instance(*visible, rank.local_rank);
    if (own != *visible) all.emplace_back("CUDA_VISIBLE_DEVICES", own);
  }
  return all;
}

}  // namespace dllaunch
