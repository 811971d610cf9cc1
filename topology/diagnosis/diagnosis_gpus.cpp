// Rules about GPUs and network interfaces.
#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include <fmt/core.h>

#include "topology/diagnosis/diagnosis_rules.hpp"

namespace dllaunch {
namespace {

const VisibleGpus& visible(const DiagnosisContext& context, int i) {
  return context.visible[static_cast<std::size_t>(i)];
}

/// All GPUs that any rank of the job sees.
std::set<int> seen_by_any(const DiagnosisContext& context) {
  std::set<int> all;
  for (const auto& one : context.visible) all.insert(one.gpus.begin(), one.gpus.end());
  return all;
}

bool all_identified(const DiagnosisContext& context) {
  return std::ranges::all_of(context.visible, [](const auto& one) { return one.identified; });
}

int gpus_from_slurm(const DiagnosisContext& context, int i) {
  const auto* text = variable(context, i, "SLURM_GPUS_ON_NODE");
  const auto list = text == nullptr ? Result<IdSet>(IdSet{}) : parse_id_list(*text);
  return list && list->size() == 1 ? list->first() : 0;
}

/// Names what hides the other GPUs: a variable, Slurm's binding, the cgroup.
std::string hidden_by(const DiagnosisContext& context, int i) {
  std::string by = visible(context, i).variable;
  if (const auto* bind = variable(context, i, "SLURMD_TRES_BIND"))
    by += fmt::format("{}Slurm's {}", by.empty() ? "" : ", ", *bind);
  if (context.rank(i).nvidia_devices)
    by += fmt::format("{}a cgroup with /dev/nvidia{}", by.empty() ? "" : ", ",
                      to_list(*context.rank(i).nvidia_devices));
  return by;
}

std::vector<const Nic*> fabric_of(const Topology& topology) {
  std::vector<const Nic*> nics;
  for (const auto& nic : topology.nics)
    if (nic.fabric) nics.push_back(&nic);
  return nics;
}

bool near(const Nic& nic, const Gpu& gpu) {
  if (nic.numa.intersects(gpu.numa)) return true;
  return !nic.pci_path.empty() && nic.pci_path.substr(0, nic.pci_path.find('/')) ==
                                      gpu.pci_path.substr(0, gpu.pci_path.find('/'));
}

/// NCCL_IB_HCA: "mlx5_0:1,mlx5_2", "=mlx5_0" (exactly), "^mlx5_3" (all but).
bool named(const std::string& list, const std::string& nic) {
  std::string_view rest = list;
  const bool all_but = rest.starts_with('^');
  if (all_but) rest.remove_prefix(1);
  const bool exactly = rest.starts_with('=');
  if (exactly) rest.remove_prefix(1);
  bool match = false;
  while (!rest.empty()) {
    const auto end = std::min(rest.find(','), rest.size());
    const auto item = rest.substr(0, std::min(rest.find(':'), end));
    match = match || (exactly ? nic == item : !item.empty() && nic.starts_with(item));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return match != all_but;
}

bool several_nodes(const RankObservation& rank) {
  return rank.world_size > rank.local_world_size;
}

bool unknown_place(const Topology& topology, const IdSet& cpus) {
  return cpus.empty() || cpus.contains(topology.cpus());
}

}  // namespace

std::vector<Found> hidden_gpus(const DiagnosisContext& context) {
  const std::string fix =
      "srun --gpus-per-node=N without --gpus-per-task and --gpu-bind, no VISIBLE_DEVICES of a "
      "rank's own: each takes the GPU of its local rank; in a job file: resources: {gpus_per_node: "
      "auto}";
  Found by_variable{.level = Level::warn, .ranks = {}, .seen = {}, .fix = fix};
  Found by_cgroup{.level = Level::fail, .ranks = {}, .seen = {}, .fix = fix};
  const auto all = static_cast<int>(seen_by_any(context).size());
  std::set<std::string> variables;
  for (int i = 0; i < context.count(); ++i) variables.insert(hidden_by(context, i));
  for (int i = 0; i < context.count(); ++i) {
    const auto& one = visible(context, i);
    const auto& rank = context.rank(i);
    if (rank.rank < 0 || rank.local_world_size < 2 || one.count == 0) continue;
    const auto* bind = variable(context, i, "SLURMD_TRES_BIND");
    const bool per_task = bind != nullptr && bind->find("per_task") != std::string::npos;
    const bool fewer =
        one.identified ? static_cast<int>(one.gpus.size()) < all : variables.size() > 1;
    if (!fewer && !per_task && !one.mig) continue;
    auto& found = rank.nvidia_devices && fewer ? by_cgroup : by_variable;
    note(found, context, i,
         fmt::format("sees {} GPU{}{}, by {}", one.count, one.count == 1 ? "" : "s",
                     one.mig ? " (a MIG partition)" : "", hidden_by(context, i)));
  }
  auto findings = only(std::move(by_cgroup));
  for (auto& found : only(std::move(by_variable))) findings.push_back(std::move(found));
  return findings;
}

std::vector<Found> visible_clash(const DiagnosisContext& context) {
  const std::string fix =
      "keep one variable (CUDA_VISIBLE_DEVICES on NVIDIA, ROCR_VISIBLE_DEVICES on AMD) and unset "
      "the others, or unset all and take the GPU of the local rank";
  Found clash{.level = Level::fail, .ranks = {}, .seen = {}, .fix = fix};
  Found none{.level = Level::warn, .ranks = {}, .seen = {}, .fix = fix};
  for (int i = 0; i < context.count(); ++i) {
    const auto& one = visible(context, i);
    for (const auto& wrong : one.wrong) note(clash, context, i, "has " + wrong);
    const bool uses = context.uses_gpu[static_cast<std::size_t>(i)];
    if (one.wrong.empty() && one.count == 0 && !one.variable.empty() && uses)
      note(none, context, i, fmt::format("has {}: no GPU is left", one.variable));
  }
  auto findings = only(std::move(clash));
  for (auto& found : only(std::move(none))) findings.push_back(std::move(found));
  return findings;
}

std::vector<Found> shared_gpu(const DiagnosisContext& context) {
  Found found{.level = Level::fail,
              .ranks = {},
              .seen = {},
              .fix =
                  "give each rank its own GPU: no VISIBLE_DEVICES of the ranks' own, each takes "
                  "the GPU of its local rank (torch.cuda.set_device(LOCAL_RANK))"};
  if (!all_identified(context)) return {};
  std::map<int, std::vector<int>> ranks_of;
  auto have = static_cast<int>(seen_by_any(context).size());
  for (int i = 0; i < context.count(); ++i) {
    const auto& gpus = context.driven[static_cast<std::size_t>(i)];
    if (context.rank(i).rank < 0 || gpus.empty()) continue;
    if (!context.uses_gpu[static_cast<std::size_t>(i)]) return {};
    have = std::max(have, gpus_from_slurm(context, i));
    // Uncertain if it may drive one of several.
    if (visible(context, i).gpus.size() > 1 && gpus.size() > 1) return {};
    ranks_of[gpus.front()].push_back(i);
  }
  if (static_cast<int>(ranks_of.size()) >= have) return {};
  for (const auto& [gpu, ranks] : ranks_of) {
    if (ranks.size() < 2) continue;
    IdSet others;
    for (const int i : ranks) add_rank(others, context.rank(i).rank);
    found.ranks |= others;
    found.seen.push_back(fmt::format("ranks {} drive {}, and only {} of {} GPUs are driven",
                                     rank_words(others), gpu_words(context.topology, gpu),
                                     ranks_of.size(), have));
  }
  return only(std::move(found));
}

std::vector<Found> far_nic(const DiagnosisContext& context) {
  const auto fabric = fabric_of(context.topology);
  Found wrong{.level = Level::warn,
              .ranks = {},
              .seen = {},
              .fix = "unset NCCL_IB_HCA, so that each rank takes the nearest, or name all of them"};
  Found far{.level = Level::ok, .ranks = {}, .seen = {}, .fix = ""};
  if (fabric.empty()) return {};
  for (int i = 0; i < context.count(); ++i) {
    const auto& gpus = context.driven[static_cast<std::size_t>(i)];
    if (!several_nodes(context.rank(i)) || gpus.empty()) continue;
    const auto& gpu = context.topology.gpus[static_cast<std::size_t>(gpus.front())];
    const auto* hca = variable(context, i, "NCCL_IB_HCA");
    const auto is_near = [&](const Nic* nic) { return near(*nic, gpu); };
    const auto is_named = [&](const Nic* nic) { return named(*hca, nic->name); };
    const bool any_near = std::ranges::any_of(fabric, is_near);
    if (hca != nullptr && std::ranges::none_of(fabric, is_named)) {
      note(wrong, context, i, fmt::format("has NCCL_IB_HCA={}, which this node lacks", *hca));
    } else if (hca != nullptr && any_near && std::ranges::none_of(fabric, [&](const Nic* nic) {
                 return is_near(nic) && is_named(nic);
               })) {
      note(wrong, context, i,
           fmt::format("has NCCL_IB_HCA={}, far from {}", *hca,
                       gpu_words(context.topology, gpus.front())));
    } else if (!any_near && !gpu.numa.empty()) {
      note(far, context, i,
           fmt::format("has no interface on the {} of {}", numa_words(gpu.numa),
                       gpu_words(context.topology, gpus.front())));
    }
  }
  auto findings = only(std::move(wrong));
  for (auto& found : only(std::move(far))) findings.push_back(std::move(found));
  return findings;
}

std::vector<Found> two_runtimes(const DiagnosisContext& context) {
  Found found{.level = Level::warn,
              .ranks = {},
              .seen = {},
              .fix =
                  "load one: check `module list` and LD_LIBRARY_PATH, and that all packages of "
                  "the environment were built for the same CUDA or ROCm"};
  for (int i = 0; i < context.count(); ++i) {
    std::set<std::string> cuda;
    std::set<std::string> hip;
    std::string all;
    for (const auto& library : context.rank(i).gpu_libraries) {
      if (library.starts_with("libcudart")) cuda.insert(library);
      if (library.starts_with("libamdhip64")) hip.insert(library);
      all += (all.empty() ? "" : ", ") + library;
    }
    if (cuda.size() > 1 || hip.size() > 1 || (!cuda.empty() && !hip.empty()))
      note(found, context, i, "has loaded " + all);
  }
  return only(std::move(found));
}

std::vector<Found> gpu_order(const DiagnosisContext& context) {
  Found mixed{.level = Level::warn,
              .ranks = {},
              .seen = {},
              .fix =
                  "export CUDA_DEVICE_ORDER=PCI_BUS_ID; in a job file: environment: {variables: "
                  "{CUDA_DEVICE_ORDER: PCI_BUS_ID}}"};
  Found turned{.level = Level::ok, .ranks = {}, .seen = {}, .fix = ""};
  const auto& gpus = context.topology.gpus;
  std::set<std::string> names;
  for (const auto& gpu : gpus)
    if (gpu.vendor == "nvidia") names.insert(gpu.name);
  for (int i = 0; i < context.count() && names.size() > 1; ++i) {
    const auto* order = variable(context, i, "CUDA_DEVICE_ORDER");
    // What a shell will start is unknown.
    if (!context.uses_gpu[static_cast<std::size_t>(i)] && context.rank(i).rank >= 0) continue;
    if (order == nullptr || *order != "PCI_BUS_ID")
      note(mixed, context, i,
           fmt::format("has CUDA_DEVICE_ORDER {} on a node of {} kinds of GPU",
                       order == nullptr ? "unset" : *order, names.size()));
  }
  for (std::size_t g = 1; g < gpus.size(); ++g) {
    const auto& before = gpus[g - 1];
    if (before.vendor != gpus[g].vendor || before.pci.empty() || gpus[g].pci >= before.pci)
      continue;
    turned.seen.push_back(fmt::format("GPU {} is {}, GPU {} is {}", before.index, before.pci,
                                      gpus[g].index, gpus[g].pci));
  }
  auto findings = only(std::move(mixed));
  for (auto& found : only(std::move(turned))) findings.push_back(std::move(found));
  return findings;
}

std::vector<Found> unknown_locality(const DiagnosisContext& context) {
  const auto& topology = context.topology;
  if (topology.numa_of(topology.cpus()).size() < 2) return {};
  Found found{.level = Level::warn,
              .ranks = {},
              .seen = {},
              .fix =
                  "the firmware or the virtual machine hides it; take the masks from the site's "
                  "manual: binding: {policy: explicit, masks: [...]}"};
  for (int g = 0; g < std::ssize(topology.gpus); ++g)
    if (unknown_place(topology, topology.gpus[static_cast<std::size_t>(g)].cpus))
      found.seen.push_back(gpu_words(topology, g));
  for (const auto& nic : topology.nics)
    if (nic.fabric && unknown_place(topology, nic.cpus)) found.seen.push_back(nic.name);
  return only(std::move(found));
}

}  // namespace dllaunch
