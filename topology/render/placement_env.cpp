#include "topology/render/placement_env.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "support/position.hpp"
#include "topology/placement/nearest_nic.hpp"

namespace dllaunch {
namespace {

// "{7}", "{0:2:64}" (start, count, stride), else "{0,1,3}".
std::string place_of(const std::vector<int>& threads) {
  if (threads.size() == 1) return fmt::format("{{{}}}", threads[0]);
  const int stride = threads[1] - threads[0];
  for (std::size_t i = 2; i < threads.size(); ++i)
    if (threads[i] - threads[i - 1] != stride)
      return fmt::format("{{{}}}", fmt::join(threads, ","));
  return stride == 1 ? fmt::format("{{{}:{}}}", threads[0], threads.size())
                     : fmt::format("{{{}:{}:{}}}", threads[0], threads.size(), stride);
}

std::vector<IdSet> cores_of(const Topology& topology, const IdSet& cpus) {
  std::vector<IdSet> cores;
  for (const auto& core : topology.cores)
    if (auto own = core.cpus & cpus; !own.empty()) cores.push_back(std::move(own));
  return cores;
}

// A network interface, not an RDMA device.
bool is_interface(const std::string& name) {
  const bool numbered_ib =
      name.starts_with("ib") && name.size() > 2 && name[2] >= '0' && name[2] <= '9';
  return name.starts_with("hsn") || name.starts_with("hsi") || numbered_ib;
}

// RDMA devices that NCCL's own transport cannot use. EFA, Omni-Path and Slingshot go through
// libfabric, which finds them itself.
bool needs_a_plugin(const std::string& name) {
  constexpr std::array<std::string_view, 4> stems{"rdmap", "efa", "hfi", "cxi"};
  return std::ranges::any_of(stems, [&](std::string_view stem) { return name.starts_with(stem); });
}

// nearest_nic() rotates among ties, so calling it until a NIC repeats yields all of them.
void add_nearest(const Topology& topology, const Gpu& gpu, std::set<std::string>& names) {
  std::vector<int> used(topology.nics.size(), 0);
  for (;;) {
    const int nic = nearest_nic(topology, &gpu, gpu.cpus, used);
    if (nic < 0) return;
    const auto at = static_cast<std::size_t>(nic);
    if (used[at]++ > 0 || !topology.nics[at].fabric) return;
    names.insert(topology.nics[at].name);
  }
}

}  // namespace

std::string omp_places(const Topology& topology, const IdSet& cpus) {
  std::string places;
  for (const auto& core : cores_of(topology, cpus))
    places += (places.empty() ? "" : ",") + place_of(core.ids());
  return places;
}

Variables openmp_variables(const Topology& topology, const Placement& placement,
                           const RankPlacement& rank) {
  const auto cores = cores_of(topology, rank.cpus).size();
  if (placement.policy == BindPolicy::none) {
    const auto share = std::max<std::size_t>(1, cores / placement.ranks.size());
    return {{"OMP_NUM_THREADS", std::to_string(share)}};
  }
  return {{"OMP_NUM_THREADS", std::to_string(cores)},
          {"OMP_PLACES", omp_places(topology, rank.cpus)},
          {"OMP_PROC_BIND", "close"}};
}

Variables device_variables(const Topology& topology, const RankPlacement& rank) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> names{
      {{"nvidia", "CUDA_VISIBLE_DEVICES"},
       {"amd", "ROCR_VISIBLE_DEVICES"},
       {"intel", "ZE_AFFINITY_MASK"}}};
  Variables variables;
  for (const auto& [vendor, name] : names) {
    std::string numbers;
    for (const int position : rank.gpus) {
      const auto& gpu = topology.gpus[at(position)];
      if (gpu.vendor != vendor || (vendor == "nvidia" && gpu.partition >= 0)) continue;
      numbers += fmt::format("{}{}", numbers.empty() ? "" : ",", gpu.index);
    }
    if (numbers.empty()) continue;
    if (vendor == "nvidia") variables.emplace_back("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    variables.emplace_back(name, numbers);
  }
  return variables;
}

Variables nccl_variables(const Topology& topology, const Placement& placement) {
  std::set<std::string> names;
  for (const auto& rank : placement.ranks)
    for (const int position : rank.gpus) add_nearest(topology, topology.gpus[at(position)], names);
  // In the topology's order, which puts mlx5_2 before mlx5_10; the set's does not.
  std::string interfaces;
  std::string adapters;
  for (const auto& nic : topology.nics) {
    if (!names.contains(nic.name) || needs_a_plugin(nic.name)) continue;
    auto& list = is_interface(nic.name) ? interfaces : adapters;
    list += (list.empty() ? "" : ",") + nic.name;
  }
  Variables variables;
  if (!adapters.empty()) variables.emplace_back("NCCL_IB_HCA", "=" + adapters);
  if (!interfaces.empty()) variables.emplace_back("NCCL_SOCKET_IFNAME", interfaces);
  return variables;
}

}  // namespace dllaunch
