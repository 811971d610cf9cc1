#include "topology/render/renderings.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include <fmt/core.h>

#include "topology/render/masks.hpp"
#include "topology/render/placement_env.hpp"

namespace dllaunch {
namespace {

constexpr std::array<std::pair<std::string_view, BindFormat>, 8> formats{
    {{"table", BindFormat::table},
     {"srun", BindFormat::srun},
     {"rankfile", BindFormat::rankfile},
     {"numactl", BindFormat::numactl},
     {"taskset", BindFormat::taskset},
     {"hwloc-bind", BindFormat::hwloc_bind},
     {"env", BindFormat::env},
     {"script", BindFormat::script}}};

bool binds(const Placement& placement) {
  return placement.policy != BindPolicy::none;
}

// The NUMA node that contains all these CPUs and has usable memory; -1 if there is none.
int memory_node(const Topology& topology, const IdSet& cpus) {
  for (const auto& node : topology.numa)
    if (node.memory_bytes > 0 && topology.allowed_numa.contains(node.index) &&
        node.cpus.contains(cpus))
      return node.index;
  return -1;
}

std::string srun_options(const Topology& topology, const Placement& placement,
                         const std::string& cpu_bind) {
  auto text = fmt::format("--ntasks-per-node={} --cpu-bind={}", placement.ranks.size(), cpu_bind);
  if (const auto memory = srun_mem_bind(topology, placement); memory != "none")
    text += " --mem-bind=" + memory;
  return text;
}

// ---- Open MPI -------------------------------------------------------------------------------

// Open MPI 4 binds to the whole core of each listed number.
bool cores_are_shared(const Topology& topology, const Placement& placement) {
  return std::ranges::any_of(topology.cores, [&](const Core& core) {
    IdSet first;
    for (const auto& rank : placement.ranks) {
      const auto own = rank.cpus & core.cpus;
      if (own.empty()) continue;
      if (!first.empty() && !own.intersects(first)) return true;
      first |= own;
    }
    return false;
  });
}

Rendering rankfile(const Topology& topology, const Placement& placement,
                   const std::vector<std::string>& hosts) {
  Rendering made;
  const auto ranks = placement.ranks.size() * hosts.size();
  if (!binds(placement)) {
    made.notes.push_back(
        fmt::format("policy none: a rankfile always binds; start the {} ranks with mpirun --np {} "
                    "--bind-to none instead",
                    ranks, ranks));
    return made;
  }
  made.text = fmt::format(
      "# Open MPI 4: mpirun --np {} --rankfile FILE --mca rmaps_rank_file_physical 1 COMMAND\n"
      "# The numbers are the system's; without that option Open MPI takes them for logical ones.\n",
      ranks);
  int rank = 0;
  for (const auto& host : hosts)
    for (const auto& local : placement.ranks)
      made.text += fmt::format("rank {}={} slot={}\n", rank++, host, to_list(local.cpus));
  made.notes.emplace_back(
      "Open MPI 5 reads rankfiles by logical numbers only: there use --format taskset with mpirun "
      "--bind-to none");
  if (cores_are_shared(topology, placement))
    made.notes.emplace_back(
        "ranks divide the hardware threads of a core, but Open MPI 4 binds each to the whole core: "
        "there use --format taskset with mpirun --bind-to none");
  return made;
}

// ---- one line per rank ----------------------------------------------------------------------

std::string numactl(const Topology& topology, const RankPlacement& rank) {
  const auto cpus = "numactl --physcpubind=" + to_list(rank.cpus);
  const int node = memory_node(topology, rank.cpus);
  return node < 0 ? cpus : fmt::format("{} --preferred={}", cpus, node);
}

std::string hwloc_bind(const Topology& topology, const RankPlacement& rank) {
  std::string text = "hwloc-bind --physical";
  // One argument per range: older releases accept no commas.
  const auto list = to_list(rank.cpus);
  for (std::size_t begin = 0; begin < list.size();) {
    const auto end = std::min(list.find(',', begin), list.size());
    text += " pu:" + list.substr(begin, end - begin);
    begin = end + 1;
  }
  const int node = memory_node(topology, rank.cpus);
  // Without --strict hwloc only prefers the node. A call of its own: hwloc-bind 2.12 adds the CPUs
  // of the node to those of the rank.
  if (node >= 0) text += fmt::format(" -- hwloc-bind --physical --membind node:{}", node);
  return text + " --";
}

Rendering prefixes(const Placement& placement,
                   const std::function<std::string(const RankPlacement&)>& prefix) {
  Rendering made;
  for (const auto& rank : placement.ranks)
    made.text += (binds(placement) ? prefix(rank) : "") + "\n";
  if (!binds(placement))
    made.notes.emplace_back("policy none: nothing to bind, so the lines are empty");
  return made;
}

// ---- the environment ------------------------------------------------------------------------

void add_device_notes(const Topology& topology, const Placement& placement, Rendering& made) {
  bool slices = false;
  bool mixed = false;
  for (const auto& rank : placement.ranks) {
    std::set<std::string> vendors;
    for (const int position : rank.gpus) {
      const auto& gpu = topology.gpus[static_cast<std::size_t>(position)];
      vendors.insert(gpu.vendor);
      slices = slices || (gpu.vendor == "nvidia" && gpu.partition >= 0);
    }
    mixed = mixed || (vendors.contains("nvidia") && vendors.contains("amd"));
  }
  made.notes.emplace_back(
      "each rank sees its own GPUs only, as number 0: transfers between GPUs may lose NVLink and "
      "IPC; leave --visible-devices out where the program can choose its device");
  if (slices)
    made.notes.emplace_back(
        "MIG slices have no numbers: set CUDA_VISIBLE_DEVICES to the UUIDs of nvidia-smi -L");
  if (mixed)
    made.notes.emplace_back(
        "a rank has GPUs of NVIDIA and AMD: HIP obeys CUDA_VISIBLE_DEVICES too, and may hide both");
}

Rendering environment(const Topology& topology, const Placement& placement, bool devices) {
  Rendering made;
  const auto nccl = nccl_variables(topology, placement);
  for (const auto& rank : placement.ranks) {
    auto variables = openmp_variables(topology, placement, rank);
    if (devices) {
      const auto own = device_variables(topology, rank);
      variables.insert(variables.end(), own.begin(), own.end());
    }
    variables.insert(variables.end(), nccl.begin(), nccl.end());
    made.text += "env";
    for (const auto& [name, value] : variables) made.text += fmt::format(" {}={}", name, value);
    made.text += "\n";
  }
  if (devices) add_device_notes(topology, placement, made);
  return made;
}

// ---- a batch script -------------------------------------------------------------------------

// Returns `export ROCR_VISIBLE_DEVICES=${d[...]}` for every variable that a rank has; empty for the
// other ranks.
std::string device_exports(const Topology& topology, const Placement& placement) {
  Variables lists;  // name -> "0 1 2,3"
  for (const auto& rank : placement.ranks)
    for (const auto& [name, value] : device_variables(topology, rank))
      if (std::ranges::none_of(lists, [&n = name](const auto& l) { return l.first == n; }))
        lists.emplace_back(name, "");
  std::string exports;
  for (auto& [name, list] : lists) {
    for (const auto& rank : placement.ranks) {
      const auto own = device_variables(topology, rank);
      const auto found =
          std::ranges::find_if(own, [&n = name](const auto& entry) { return entry.first == n; });
      list +=
          (list.empty() ? "" : " ") + (found == own.end() ? std::string("\"\"") : found->second);
    }
    exports += fmt::format("own=({}); export {}=${{own[SLURM_LOCALID]}}; ", list, name);
  }
  return exports;
}

// Requests all the node's GPUs for all ranks: --gpus-per-task would hide them from each other.
std::string gpu_request(const Placement& placement) {
  std::set<int> used;
  for (const auto& rank : placement.ranks) used.insert(rank.gpus.begin(), rank.gpus.end());
  return used.empty() ? "" : fmt::format("#SBATCH --gpus-per-node={}\n", used.size());
}

Rendering script(const Topology& topology, const Placement& placement, bool devices) {
  Rendering made;
  const auto ranks = placement.ranks.size();
  made.text = fmt::format(
      "#!/bin/bash\n"
      "#SBATCH --ntasks-per-node={}\n"
      "#SBATCH --exclusive\n"
      "{}"
      "# The masks are of a whole node. Start it as: sbatch --nodes=N FILE COMMAND...\n"
      "CPU_BIND=\"{}\"\n",
      ranks, gpu_request(placement), srun_cpu_bind(placement));
  // The ranks' places differ, but one export serves all: each finds its own inside its mask.
  std::string threads;
  for (const auto& rank : placement.ranks) {
    const auto own = openmp_variables(topology, placement, rank)[0].second;
    if (threads.empty() || std::stoi(own) < std::stoi(threads)) threads = own;
  }
  made.text += "export OMP_NUM_THREADS=" + threads;
  made.text += binds(placement) ? " OMP_PLACES=cores OMP_PROC_BIND=close\n" : "\n";
  for (const auto& [name, value] : nccl_variables(topology, placement))
    made.text += fmt::format("export {}=\"{}\"\n", name, value);
  const auto exports = devices ? device_exports(topology, placement) : std::string();
  made.text += "srun " + srun_options(topology, placement, "\"$CPU_BIND\"");
  if (!exports.empty()) made.text += fmt::format(" \\\n  bash -c '{}exec \"$@\"' rank", exports);
  made.text += " \"$@\"\n";
  if (devices) add_device_notes(topology, placement, made);
  return made;
}

}  // namespace

Result<BindFormat> parse_bind_format(std::string_view word) {
  std::string known;
  for (const auto& [name, format] : formats) {
    if (name == word) return format;
    known += (known.empty() ? "" : " ") + std::string(name);
  }
  return Error{ErrorKind::bad_request, fmt::format("unknown format '{}'", word),
               "use one of: " + known};
}

Rendering render_binding(BindFormat format, const Topology& topology, const Placement& placement,
                         const RenderingOptions& options) {
  switch (format) {
    case BindFormat::table:
      return {.text = render_placement(topology, placement)};
    case BindFormat::srun:
      return {.text = srun_options(topology, placement, srun_cpu_bind(placement)) + "\n"};
    case BindFormat::rankfile:
      return rankfile(topology, placement, options.hosts);
    case BindFormat::numactl:
      return prefixes(placement, [&](const auto& rank) { return numactl(topology, rank); });
    case BindFormat::taskset:
      return prefixes(placement,
                      [](const auto& rank) { return "taskset -c " + to_list(rank.cpus); });
    case BindFormat::hwloc_bind:
      return prefixes(placement, [&](const auto& rank) { return hwloc_bind(topology, rank); });
    case BindFormat::env:
      return environment(topology, placement, options.visible_devices);
    case BindFormat::script:
      return script(topology, placement, options.visible_devices);
  }
  return {};
}

}  // namespace dllaunch
