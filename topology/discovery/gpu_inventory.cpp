#include "topology/discovery/gpu_inventory.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/core.h>

#include "support/isolated_call.hpp"
#include "support/json.hpp"
#include "topology/discovery/nvml.hpp"
#include "topology/discovery/rocm_smi.hpp"
#include "topology/node/gpu_order.hpp"

namespace dllaunch {
namespace {

using Read = VendorLibrary (*)(const std::string& file);

VendorLibrary observe(const char* name, const std::string& file, Read read,
                      std::chrono::milliseconds deadline) {
  const auto text = isolated_call(
      [&]() -> Result<std::string> {
        // A vendor's name may hold any byte.
        return to_json(read(file)).dump(-1, ' ', true, Json::error_handler_t::replace);
      },
      deadline);
  VendorLibrary silent{.name = name, .file = file, .found = true};
  if (!text) {
    silent.why = fmt::format("asking {}: {}", file, text.error().what);
    return silent;
  }
  auto answer = vendor_library_from_json(Json::parse(*text, nullptr, false));
  if (answer) return *std::move(answer);
  silent.why = answer.error().what;
  return silent;
}

// Adds what a library reports of one GPU to the GPU that hwloc found.
void add_to(Gpu& gpu, const Gpu& said) {
  gpu.index = said.index;
  gpu.vendor = said.vendor;
  if (gpu.name.empty() || said.mode == "MIG") gpu.name = said.name.empty() ? gpu.name : said.name;
  if (!said.uuid.empty()) gpu.uuid = said.uuid;
  gpu.mode = said.mode;
  gpu.links = said.links;
}

// Merges all GPUs of one PCI device.
void merge_device(Topology& node, std::vector<Gpu> said, std::vector<bool>& told) {
  std::ranges::sort(said, [](const Gpu& a, const Gpu& b) {
    return std::tie(a.partition, a.index) < std::tie(b.partition, b.index);
  });
  std::vector<std::size_t> known;
  for (std::size_t i = 0; i < node.gpus.size(); ++i)
    if (node.gpus[i].pci == said.front().pci) known.push_back(i);
  const auto add = [&](Gpu gpu) {
    known.push_back(node.gpus.size());
    node.gpus.push_back(std::move(gpu));
    told.push_back(false);
  };
  if (known.empty()) add({.pci = said.front().pci, .cpus = node.cpus()});
  while (known.size() < said.size()) add(node.gpus[known.front()]);
  std::ranges::sort(known, [&](std::size_t a, std::size_t b) {
    return node.gpus[a].partition < node.gpus[b].partition;
  });
  // hwloc may know more partitions than this process may use; match these by number.
  const bool all = known.size() == said.size();
  for (const auto& gpu : said) {
    const auto is_free = [&](std::size_t i) { return !told[i]; };
    auto which = std::ranges::find_if(known, [&](std::size_t i) {
      return !all && is_free(i) && node.gpus[i].index == gpu.index;
    });
    if (which == known.end()) which = std::ranges::find_if(known, is_free);
    if (which == known.end()) return;  // the library lists one device twice
    add_to(node.gpus[*which], gpu);
    told[*which] = true;
  }
  for (std::size_t i = 0; i < known.size(); ++i)
    node.gpus[known[i]].partition = known.size() > 1 ? static_cast<int>(i) : -1;
}

// A number given by a runtime wins; a GPU that got the same number from PCI order is renumbered.
void free_given_numbers(std::vector<Gpu>& gpus, const std::vector<bool>& told) {
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (told[i]) continue;
    for (std::size_t k = 0; k < gpus.size(); ++k)
      if (told[k] && gpus[k].vendor == gpus[i].vendor && gpus[k].index == gpus[i].index)
        gpus[i].index = unnumbered_gpu;
  }
}

}  // namespace

std::vector<VendorLibrary> observe_gpus(const GpuLibraries& libraries) {
  return {observe("NVML", libraries.nvml, read_nvml, libraries.deadline),
          observe("ROCm SMI", libraries.rocm_smi, read_rocm_smi, libraries.deadline)};
}

Topology with_inventory(Topology node, const std::vector<VendorLibrary>& libraries) {
  std::vector<bool> told(node.gpus.size(), false);
  for (const auto& library : libraries) {
    std::vector<std::string> done;
    for (const auto& gpu : library.gpus) {
      if (std::ranges::find(done, gpu.pci) != done.end()) continue;
      done.push_back(gpu.pci);
      std::vector<Gpu> said;
      for (const auto& other : library.gpus)
        if (other.pci == gpu.pci) said.push_back(other);
      merge_device(node, std::move(said), told);
    }
  }
  free_given_numbers(node.gpus, told);
  number_and_sort(node.gpus);
  return node;
}

}  // namespace dllaunch
