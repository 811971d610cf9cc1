#include "topology/discovery/rocm_smi.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/core.h>

#include "support/shared_library.hpp"

namespace dllaunch {
namespace {

constexpr int rsmi_success = 0;
constexpr int driver_component = 0;
constexpr int link_is_pcie = 1;
constexpr int link_is_xgmi = 2;
constexpr std::uint32_t most_rsmi_devices = 1024;

struct RocmSmi {
  int (*init)(std::uint64_t flags) = nullptr;
  int (*device_count)(std::uint32_t*) = nullptr;
  int (*pci)(std::uint32_t, std::uint64_t*) = nullptr;
  // An old release may lack these.
  int (*version)(int, char*, std::uint32_t) = nullptr;
  int (*name)(std::uint32_t, char*, std::size_t) = nullptr;
  int (*unique_id)(std::uint32_t, std::uint64_t*) = nullptr;
  int (*compute_partition)(std::uint32_t, char*, std::uint32_t) = nullptr;
  int (*memory_partition)(std::uint32_t, char*, std::uint32_t) = nullptr;
  int (*partition_id)(std::uint32_t, std::uint32_t*) = nullptr;
  int (*link_type)(std::uint32_t, std::uint32_t, std::uint64_t* hops, int* type) = nullptr;
  int (*bandwidth)(std::uint32_t, std::uint32_t, std::uint64_t* least,
                   std::uint64_t* most) = nullptr;
  int (*p2p)(std::uint32_t, std::uint32_t, bool*) = nullptr;
};

/// Returns the first required function that is missing; empty if none is.
std::string find_functions(const SharedLibrary& library, RocmSmi& smi) {
  if (!library.find("rsmi_init", smi.init)) return "rsmi_init";
  if (!library.find("rsmi_num_monitor_devices", smi.device_count))
    return "rsmi_num_monitor_devices";
  if (!library.find("rsmi_dev_pci_id_get", smi.pci)) return "rsmi_dev_pci_id_get";
  library.find("rsmi_version_str_get", smi.version);
  library.find("rsmi_dev_name_get", smi.name);
  library.find("rsmi_dev_unique_id_get", smi.unique_id);
  library.find("rsmi_dev_compute_partition_get", smi.compute_partition);
  if (!library.find("rsmi_dev_memory_partition_get", smi.memory_partition))
    library.find("rsmi_dev_nps_mode_get", smi.memory_partition);
  library.find("rsmi_dev_partition_id_get", smi.partition_id);
  library.find("rsmi_topo_get_link_type", smi.link_type);
  library.find("rsmi_minmax_bandwidth_get", smi.bandwidth);
  library.find("rsmi_is_P2P_accessible", smi.p2p);
  return "";
}

/// The domain is in the upper half; bus, device and function are below. ROCm stores a partition's
/// number in the function, or above the bus. For the system, all partitions of a device are
/// function 0.
Gpu at_address(std::uint64_t bdf) {
  Gpu gpu{.vendor = "amd"};
  gpu.pci = fmt::format("{:04x}:{:02x}:{:02x}.0", bdf >> 32, (bdf >> 8) & 0xff, (bdf >> 3) & 0x1f);
  const auto above = static_cast<int>((bdf >> 28) & 0xf);
  gpu.partition = above != 0 ? above : static_cast<int>(bdf & 0x7);
  return gpu;
}

std::string mode_text(int (*ask)(std::uint32_t, char*, std::uint32_t), std::uint32_t device) {
  std::array<char, 32> text{};
  if (ask == nullptr || ask(device, text.data(), text.size() - 1) != rsmi_success) return "";
  const std::string mode = text.data();
  return mode == "UNKNOWN" ? "" : mode;
}

Gpu gpu_of(const RocmSmi& smi, std::uint32_t device, std::uint64_t bdf) {
  auto gpu = at_address(bdf);
  gpu.index = static_cast<int>(device);
  std::array<char, 256> name{};
  if (smi.name != nullptr && smi.name(device, name.data(), name.size() - 1) == rsmi_success)
    gpu.name = name.data();
  std::uint64_t id = 0;
  if (smi.unique_id != nullptr && smi.unique_id(device, &id) == rsmi_success && id != 0)
    gpu.uuid = fmt::format("GPU-{:016x}", id);
  const auto compute = mode_text(smi.compute_partition, device);
  const auto memory = mode_text(smi.memory_partition, device);
  gpu.mode = compute + (compute.empty() || memory.empty() ? "" : "/") + memory;
  std::uint32_t partition = 0;
  // Whole devices return all bits set.
  if (smi.partition_id != nullptr && smi.partition_id(device, &partition) == rsmi_success &&
      partition < 64)
    gpu.partition = static_cast<int>(partition);
  return gpu;
}

/// Partition numbers mean something only if a device has several.
void number_partitions(std::vector<Gpu>& gpus) {
  for (auto& gpu : gpus) {
    const auto parts = std::ranges::count(gpus, gpu.pci, &Gpu::pci);
    if (parts == 1) gpu.partition = -1;
  }
}

std::vector<GpuLink> links_of(const RocmSmi& smi, const Gpu& from, const std::vector<Gpu>& all) {
  std::vector<GpuLink> links;
  if (smi.link_type == nullptr) return links;
  const auto a = static_cast<std::uint32_t>(from.index);
  for (const auto& to : all) {
    if (to.index == from.index) continue;
    const auto b = static_cast<std::uint32_t>(to.index);
    std::uint64_t hops = 0;
    int type = 0;
    if (smi.link_type(a, b, &hops, &type) != rsmi_success) continue;
    if (type != link_is_pcie && type != link_is_xgmi) continue;
    GpuLink link{.pci = to.pci, .partition = to.partition};
    link.kind = type == link_is_xgmi ? "xgmi" : "pcie";
    // The driver's minimum bandwidth is that of one link, its maximum that of all links together.
    std::uint64_t least = 0;
    std::uint64_t most = 0;
    if (type == link_is_xgmi && hops == 1 && smi.bandwidth != nullptr &&
        smi.bandwidth(a, b, &least, &most) == rsmi_success && least > 0)
      link.count = static_cast<int>(std::min<std::uint64_t>(most / least, 64));
    bool reachable = false;
    link.p2p = smi.p2p != nullptr && smi.p2p(a, b, &reachable) == rsmi_success && reachable;
    links.push_back(std::move(link));
  }
  return links;
}

}  // namespace

VendorLibrary read_rocm_smi(const std::string& file) {
  VendorLibrary answer{.name = "ROCm SMI", .file = file};
  const SharedLibrary library(file);
  answer.found = library.opened() || !library.why().empty();
  if (!library.opened()) {
    answer.why = library.why().empty() ? file + " is not on this machine" : library.why();
    return answer;
  }
  RocmSmi smi;
  if (const auto missing = find_functions(library, smi); !missing.empty()) {
    answer.why = fmt::format("{} has no {}", file, missing);
    return answer;
  }
  if (const int status = smi.init(0); status != rsmi_success) {
    answer.why = fmt::format("rsmi_init failed with {}: is the amdgpu driver loaded?", status);
    return answer;
  }
  std::array<char, 256> driver{};
  if (smi.version != nullptr &&
      smi.version(driver_component, driver.data(), driver.size() - 1) == rsmi_success)
    answer.driver = driver.data();
  std::uint32_t count = 0;
  if (const int status = smi.device_count(&count); status != rsmi_success) {
    answer.why = fmt::format("rsmi_num_monitor_devices failed with {}", status);
    return answer;
  }
  for (std::uint32_t device = 0; device < std::min(count, most_rsmi_devices); ++device) {
    std::uint64_t bdf = 0;
    if (smi.pci(device, &bdf) == rsmi_success) answer.gpus.push_back(gpu_of(smi, device, bdf));
  }
  number_partitions(answer.gpus);
  for (auto& gpu : answer.gpus) gpu.links = links_of(smi, gpu, answer.gpus);
  return answer;
}

}  // namespace dllaunch
