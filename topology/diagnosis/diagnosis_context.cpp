#include <algorithm>
#include <charconv>

#include <fmt/core.h>

#include "topology/diagnosis/diagnosis_rules.hpp"
#include "topology/render/masks.hpp"

namespace dllaunch {
namespace {

int ranks_on_node(const NodeObservation& node) {
  int ranks = static_cast<int>(node.ranks.size());
  for (const auto& rank : node.ranks) ranks = std::max(ranks, rank.local_world_size);
  return ranks;
}

std::optional<Placement> advice_for(const Topology& topology, const NodeObservation& node) {
  if (node.ranks.empty()) return std::nullopt;
  PlacementRequest request = node.request.value_or(PlacementRequest{});
  request.ranks = ranks_on_node(node);
  request.gpus = std::min(request.gpus, static_cast<int>(std::ssize(topology.gpus)));
  if (request.policy == BindPolicy::explicit_masks) request.policy = BindPolicy::closest;
  auto placed = place_ranks(topology, request);
  if (!placed && request.cores_per_rank > 0) {
    request.cores_per_rank = 0;
    placed = place_ranks(topology, request);
  }
  if (!placed) return std::nullopt;
  return *std::move(placed);
}

/// A process on a GPU node need not use a GPU. Evidence that it does: a loaded GPU runtime, or GPUs
/// that the user assigned to it by name.
bool shows_gpu_use(const RankObservation& rank) {
  if (rank.libraries_read) return !rank.gpu_libraries.empty();
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                           "ZE_AFFINITY_MASK"}) {
    if (rank.environment.contains(name)) return true;
  }
  return false;
}

}  // namespace

const RankPlacement* DiagnosisContext::advised(int i) const {
  const auto local = static_cast<std::size_t>(rank(i).local_rank);
  if (!advice || local >= advice->ranks.size()) return nullptr;
  return &advice->ranks[local];
}

bool DiagnosisContext::unbound(int i) const {
  const auto& allowed = topology.allowed_cpus;
  return allowed.size() > 1 && rank(i).cpus.contains(allowed);
}

DiagnosisContext scene_of(const Topology& topology, const NodeObservation& node) {
  DiagnosisContext context{.topology = topology,
                           .node = node,
                           .advice = advice_for(topology, node),
                           .visible = {},
                           .driven = {},
                           .uses_gpu = {}};
  for (int i = 0; i < context.count(); ++i) {
    const auto& rank = context.rank(i);
    context.visible.push_back(visible_gpus(topology, rank));
    context.uses_gpu.push_back(shows_gpu_use(rank));
    const auto& visible = context.visible.back();
    const bool planned = node.request && visible.variable.empty() && rank.rank >= 0;
    const auto* advised = planned ? context.advised(i) : nullptr;
    context.driven.push_back(advised != nullptr ? advised->gpus : driven_gpus(visible, rank));
  }
  return context;
}

void note(Found& found, const DiagnosisContext& context, int i, const std::string& fact) {
  const auto& rank = context.rank(i);
  add_rank(found.ranks, rank.rank);
  found.seen.push_back(rank.rank >= 0 ? fmt::format("rank {} {}", rank.rank, fact)
                                      : fmt::format("process {} {}", rank.pid, fact));
}

std::vector<Found> only(Found found) {
  if (found.seen.empty()) return {};
  return {std::move(found)};
}

std::string cpu_words(const IdSet& cpus) {
  if (cpus.empty()) return "no CPU";
  return fmt::format("CPU{} {}", cpus.size() == 1 ? "" : "s", to_list(cpus));
}

std::string numa_words(const IdSet& nodes) {
  if (nodes.empty()) return "no known NUMA node";
  return fmt::format("NUMA node{} {}", nodes.size() == 1 ? "" : "s", to_list(nodes));
}

std::string gpu_words(const Topology& topology, int position) {
  const auto& gpu = topology.gpus[static_cast<std::size_t>(position)];
  if (gpu.pci.empty()) return fmt::format("GPU {}", gpu.index);
  return fmt::format("GPU {} ({})", gpu.index, gpu.pci);
}

std::string size_words(std::uint64_t bytes) {
  constexpr std::uint64_t kib = 1024;
  if (bytes >= kib * kib * kib) return fmt::format("{} GiB", bytes / (kib * kib * kib));
  if (bytes >= kib * kib) return fmt::format("{} MiB", bytes / (kib * kib));
  return fmt::format("{} KiB", bytes / kib);
}

int number_in(const std::string* text) {
  if (text == nullptr) return 0;
  int number = 0;
  std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

std::string fix_binding(const DiagnosisContext& context, std::string_view key) {
  constexpr std::size_t longest = 300;
  if (!context.advice) return "bind one rank per GPU: `dllaunch bind` prints the masks";
  auto masks = "--cpu-bind=" + srun_cpu_bind(*context.advice);
  if (masks.size() > longest)
    masks = fmt::format("the --cpu-bind that `dllaunch bind --ranks {}` prints",
                        context.advice->ranks.size());
  const bool by_srun = std::ranges::any_of(
      context.node.ranks, [](const auto& rank) { return rank.launcher == "slurm"; });
  const bool part = context.topology.allowed_cpus != context.topology.cpus();
  if (by_srun && !part) return fmt::format("srun {}; in a job file: binding: {{{}}}", masks, key);
  if (by_srun)
    return fmt::format(
        "srun --cpu-bind=none dllaunch exec -- CMD, which binds inside the CPUs given ({}); in a "
        "job file: binding: {{{}}}",
        masks.substr(masks.find('=') + 1), key);
  return fmt::format(
      "mpirun --bind-to none dllaunch exec -- CMD, which binds as srun's {} would; in a job file: "
      "binding: {{{}}}",
      masks, key);
}

const std::string* variable(const DiagnosisContext& context, int i, const char* name) {
  const auto& environment = context.rank(i).environment;
  const auto found = environment.find(name);
  return found == environment.end() ? nullptr : &found->second;
}

}  // namespace dllaunch
