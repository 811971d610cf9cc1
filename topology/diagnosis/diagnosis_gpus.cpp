// Rules about GPUs and network interfaces.
#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "topology/diagnosis/diagnosis_rules.hpp"

namespace dllaunch {
namespace {

const VisibleGpus& visible(const Scene& scene, int i) {
  return scene.visible[static_cast<std::size_t>(i)];
}

/// What the ranks of the job see together.
std::set<int> seen_by_any(const Scene& scene) {
  std::set<int> all;
  for (const auto& one : scene.visible) all.insert(one.gpus.begin(), one.gpus.end());
  return all;
}

bool all_identified(const Scene& scene) {
  return std::all_of(scene.visible.begin(), scene.visible.end(),
                     [](const auto& one) { return one.identified; });
}

int gpus_from_slurm(const Scene& scene, int i) {
  const auto* text = variable(scene, i, "SLURM_GPUS_ON_NODE");
  const auto list = text == nullptr ? Result<IdSet>(IdSet{}) : parse_id_list(*text);
  return list && list->size() == 1 ? list->first() : 0;
}

/// The words that hide the others: a variable, Slurm's binding, the cgroup.
std::string hidden_by(const Scene& scene, int i) {
  std::string by = visible(scene, i).variable;
  if (const auto* bind = variable(scene, i, "SLURMD_TRES_BIND"))
    by += fmt::format("{}Slurm's {}", by.empty() ? "" : ", ", *bind);
  if (scene.rank(i).nvidia_devices)
    by += fmt::format("{}a cgroup with /dev/nvidia{}", by.empty() ? "" : ", ",
                      to_list(*scene.rank(i).nvidia_devices));
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

std::vector<Found> hidden_gpus(const Scene& scene) {
  const std::string fix =
      "srun --gpus-per-node=N without --gpus-per-task and --gpu-bind, no VISIBLE_DEVICES of a "
      "rank's own: each takes the GPU of its local rank; in a job file: resources: {gpus_per_node: "
      "auto}";
  Found by_variable{.level = Level::warn, .ranks = {}, .seen = {}, .fix = fix};
  Found by_cgroup{.level = Level::fail, .ranks = {}, .seen = {}, .fix = fix};
  const auto all = static_cast<int>(seen_by_any(scene).size());
  std::set<std::string> variables;
  for (int i = 0; i < scene.count(); ++i) variables.insert(hidden_by(scene, i));
  for (int i = 0; i < scene.count(); ++i) {
    const auto& one = visible(scene, i);
    const auto& rank = scene.rank(i);
    if (rank.rank < 0 || rank.local_world_size < 2 || one.count == 0) continue;
    const auto* bind = variable(scene, i, "SLURMD_TRES_BIND");
    const bool per_task = bind != nullptr && bind->find("per_task") != std::string::npos;
    const bool fewer =
        one.identified ? static_cast<int>(one.gpus.size()) < all : variables.size() > 1;
    if (!fewer && !per_task && !one.mig) continue;
    auto& found = rank.nvidia_devices && fewer ? by_cgroup : by_variable;
    note(found, scene, i,
         fmt::format("sees {} GPU{}{}, by {}", one.count, one.count == 1 ? "" : "s",
                     one.mig ? " (a MIG partition)" : "", hidden_by(scene, i)));
  }
  auto findings = only(std::move(by_cgroup));
  for (auto& found : only(std::move(by_variable))) findings.push_back(std::move(found));
  return findings;
}

std::vector<Found> visible_clash(const Scene& scene) {
  const std::string fix =
      "keep one variable (CUDA_VISIBLE_DEVICES on NVIDIA, ROCR_VISIBLE_DEVICES on AMD) and unset "
      "the others, or unset all and take the GPU of the local rank";
  Found clash{.level = Level::fail, .ranks = {}, .seen = {}, .fix = fix};
  Found none{.level = Level::warn, .ranks = {}, .seen = {}, .fix = fix};
  for (int i = 0; i < scene.count(); ++i) {
    const auto& one = visible(scene, i);
    for (const auto& wrong : one.wrong) note(clash, scene, i, "has " + wrong);
    const bool uses = scene.uses_gpu[static_cast<std::size_t>(i)];
    if (one.wrong.empty() && one.count == 0 && !one.variable.empty() && uses)
      note(none, scene, i, fmt::format("has {}: no GPU is left", one.variable));
  }
  auto findings = only(std::move(clash));
  for (auto& found : only(std::move(none))) findings.push_back(std::move(found));
  return findings;
}

std::vector<Found> shared_gpu(const Scene& scene) {
  Found found{.level = Level::fail,
              .ranks = {},
              .seen = {},
              .fix =
                  "give each rank its own GPU: no VISIBLE_DEVICES of the ranks' own, each takes "
                  "the GPU of its local rank (torch.cuda.set_device(LOCAL_RANK))"};
  if (!all_identified(scene)) return {};
  std::map<int, std::vector<int>> ranks_of;
  auto have = static_cast<int>(seen_by_any(scene).size());
  for (int i = 0; i < scene.count(); ++i) {
    const auto& gpus = scene.driven[static_cast<std::size_t>(i)];
    if (scene.rank(i).rank < 0 || gpus.empty()) continue;
    if (!scene.uses_gpu[static_cast<std::size_t>(i)]) return {};
    have = std::max(have, gpus_from_slurm(scene, i));
    // Where it may drive one of several, nothing is certain.
    if (visible(scene, i).gpus.size() > 1 && gpus.size() > 1) return {};
    ranks_of[gpus.front()].push_back(i);
  }
  if (static_cast<int>(ranks_of.size()) >= have) return {};
  for (const auto& [gpu, ranks] : ranks_of) {
    if (ranks.size() < 2) continue;
    IdSet others;
    for (const int i : ranks) add_rank(others, scene.rank(i).rank);
    found.ranks |= others;
    found.seen.push_back(fmt::format("ranks {} drive {}, and only {} of {} GPUs are driven",
                                     rank_words(others), gpu_words(scene.topology, gpu),
                                     ranks_of.size(), have));
  }
  return only(std::move(found));
}

std::vector<Found> far_nic(const Scene& scene) {
  const auto fabric = fabric_of(scene.topology);
  Found wrong{.level = Level::warn,
              .ranks = {},
              .seen = {},
              .fix = "unset NCCL_IB_HCA, so that each rank takes the nearest, or name all of them"};
  Found far{.level = Level::ok, .ranks = {}, .seen = {}, .fix = ""};
  if (fabric.empty()) return {};
  for (int i = 0; i < scene.count(); ++i) {
    const auto& gpus = scene.driven[static_cast<std::size_t>(i)];
    if (!several_nodes(scene.rank(i)) || gpus.empty()) continue;
    const auto& gpu = scene.topology.gpus[static_cast<std::size_t>(gpus.front())];
    const auto* hca = variable(scene, i, "NCCL_IB_HCA");
    const auto is_near = [&](const Nic* nic) { return near(*nic, gpu); };
    const auto is_named = [&](const Nic* nic) { return named(*hca, nic->name); };
    const bool any_near = std::any_of(fabric.begin(), fabric.end(), is_near);
    if (hca != nullptr && std::none_of(fabric.begin(), fabric.end(), is_named)) {
      note(wrong, scene, i, fmt::format("has NCCL_IB_HCA={}, which this node lacks", *hca));
    } else if (hca != nullptr && any_near &&
               std::none_of(fabric.begin(), fabric.end(),
                            [&](const Nic* nic) { return is_near(nic) && is_named(nic); })) {
      note(wrong, scene, i,
           fmt::format("has NCCL_IB_HCA={}, far from {}", *hca,
                       gpu_words(scene.topology, gpus.front())));
    } else if (!any_near && !gpu.numa.empty()) {
      note(far, scene, i,
           fmt::format("has no interface on the {} of {}", numa_words(gpu.numa),
                       gpu_words(scene.topology, gpus.front())));
    }
  }
  auto findings = only(std::move(wrong));
  for (auto& found : only(std::move(far))) findings.push_back(std::move(found));
  return findings;
}

std::vector<Found> two_runtimes(const Scene& scene) {
  Found found{.level = Level::warn,
              .ranks = {},
              .seen = {},
              .fix =
                  "load one: check `module list` and LD_LIBRARY_PATH, and that all packages of "
                  "the environment were built for the same CUDA or ROCm"};
  for (int i = 0; i < scene.count(); ++i) {
    std::set<std::string> cuda;
    std::set<std::string> hip;
    std::string all;
    for (const auto& library : scene.rank(i).gpu_libraries) {
      if (library.starts_with("libcudart")) cuda.insert(library);
      if (library.starts_with("libamdhip64")) hip.insert(library);
      all += (all.empty() ? "" : ", ") + library;
    }
    if (cuda.size() > 1 || hip.size() > 1 || (!cuda.empty() && !hip.empty()))
      note(found, scene, i, "has loaded " + all);
  }
  return only(std::move(found));
}

std::vector<Found> gpu_order(const Scene& scene) {
  Found mixed{.level = Level::warn,
              .ranks = {},
              .seen = {},
              .fix =
                  "export CUDA_DEVICE_ORDER=PCI_BUS_ID; in a job file: environment: {variables: "
                  "{CUDA_DEVICE_ORDER: PCI_BUS_ID}}"};
  Found turned{.level = Level::ok, .ranks = {}, .seen = {}, .fix = ""};
  const auto& gpus = scene.topology.gpus;
  std::set<std::string> names;
  for (const auto& gpu : gpus)
    if (gpu.vendor == "nvidia") names.insert(gpu.name);
  for (int i = 0; i < scene.count() && names.size() > 1; ++i) {
    const auto* order = variable(scene, i, "CUDA_DEVICE_ORDER");
    // Of a shell nobody knows what it will start.
    if (!scene.uses_gpu[static_cast<std::size_t>(i)] && scene.rank(i).rank >= 0) continue;
    if (order == nullptr || *order != "PCI_BUS_ID")
      note(mixed, scene, i,
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

std::vector<Found> unknown_locality(const Scene& scene) {
  const auto& topology = scene.topology;
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
