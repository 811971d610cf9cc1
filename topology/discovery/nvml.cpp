#include "topology/discovery/nvml.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "topology/discovery/nvml_library.hpp"

namespace dllaunch {
namespace {

using Device = NvmlDevice;
using PciInfo = NvmlPciInfo;

constexpr unsigned on = 1;
constexpr unsigned p2p_read = 0;
constexpr unsigned p2p_ok = 0;
constexpr unsigned remote_is_gpu = 0;
constexpr unsigned remote_is_switch = 2;
constexpr unsigned most_links = 64;

/// Functions that an old driver may lack.
struct Nvml {
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*mig_mode)(Device, unsigned* current, unsigned* pending) = nullptr;
  int (*mig_count)(Device, unsigned*) = nullptr;
  int (*mig_device)(Device, unsigned, Device*) = nullptr;
  int (*link_state)(Device, unsigned, unsigned*) = nullptr;
  int (*link_remote)(Device, unsigned, PciInfo*) = nullptr;
  int (*link_remote_type)(Device, unsigned, unsigned*) = nullptr;
  int (*common_ancestor)(Device, Device, unsigned*) = nullptr;
  int (*p2p_status)(Device, Device, unsigned, unsigned*) = nullptr;
};

void find_functions(const NvmlLibrary& library, Nvml& nvml) {
  library.find("nvmlSystemGetDriverVersion", nvml.driver_version);
  library.find("nvmlDeviceGetName", nvml.name);
  library.find("nvmlDeviceGetUUID", nvml.uuid);
  library.find("nvmlDeviceGetMigMode", nvml.mig_mode);
  library.find("nvmlDeviceGetMaxMigDeviceCount", nvml.mig_count);
  library.find("nvmlDeviceGetMigDeviceHandleByIndex", nvml.mig_device);
  library.find("nvmlDeviceGetNvLinkState", nvml.link_state);
  library.find("nvmlDeviceGetNvLinkRemotePciInfo_v2", nvml.link_remote);
  library.find("nvmlDeviceGetNvLinkRemoteDeviceType", nvml.link_remote_type);
  library.find("nvmlDeviceGetTopologyCommonAncestor", nvml.common_ancestor);
  library.find("nvmlDeviceGetP2PStatus", nvml.p2p_status);
}

// ---- one GPU --------------------------------------------------------------------------------

bool mig_is_on(const Nvml& nvml, Device device) {
  unsigned current = 0;
  unsigned pending = 0;
  return nvml.mig_mode != nullptr && nvml.mig_mode(device, &current, &pending) == nvml_success &&
         current == on;
}

/// Returns the GPU, or its MIG instances if it is partitioned.
std::vector<Gpu> gpus_of(const Nvml& nvml, Device device, const std::string& pci) {
  Gpu whole{.name = nvml_text(nvml.name, device), .vendor = "nvidia", .pci = pci};
  whole.uuid = nvml_text(nvml.uuid, device);
  if (!mig_is_on(nvml, device)) return {whole};
  whole.mode = "MIG";
  std::vector<Gpu> parts;
  unsigned slots = 0;
  if (nvml.mig_count == nullptr || nvml.mig_device == nullptr ||
      nvml.mig_count(device, &slots) != nvml_success)
    return {whole};
  for (unsigned slot = 0; slot < std::min(slots, most_links); ++slot) {
    Device instance = nullptr;
    if (nvml.mig_device(device, slot, &instance) != nvml_success) continue;
    auto part = whole;
    part.partition = static_cast<int>(parts.size());
    part.uuid = nvml_text(nvml.uuid, instance);
    if (const auto name = nvml_text(nvml.name, instance); !name.empty()) part.name = name;
    parts.push_back(std::move(part));
  }
  if (parts.empty()) return {whole};
  return parts;
}

// ---- links ----------------------------------------------------------------------------------

struct NvLinks {
  std::map<std::string, int> to_gpu;  // by PCI address
  int to_switch = 0;                  // the switch connects it to every other GPU on switches
};

NvLinks nvlinks_of(const Nvml& nvml, Device device) {
  NvLinks links;
  if (nvml.link_state == nullptr || nvml.link_remote == nullptr) return links;
  for (unsigned link = 0; link < most_links; ++link) {
    unsigned active = 0;
    // Past the last link every query fails; a link that is down does not.
    if (nvml.link_state(device, link, &active) != nvml_success) break;
    if (active != on) continue;
    PciInfo remote{};
    if (nvml.link_remote(device, link, &remote) != nvml_success) continue;
    unsigned type = remote_is_gpu;
    if (nvml.link_remote_type != nullptr &&
        nvml.link_remote_type(device, link, &type) != nvml_success)
      continue;
    if (type == remote_is_switch) ++links.to_switch;
    if (type == remote_is_gpu) ++links.to_gpu[nvml_pci_text(remote)];
  }
  return links;
}

std::string path_between(const Nvml& nvml, Device a, Device b) {
  unsigned level = 0;
  if (nvml.common_ancestor == nullptr || nvml.common_ancestor(a, b, &level) != nvml_success)
    return "";
  switch (level) {
    case 0:
    case 10:
      return "pix";
    case 20:
      return "pxb";
    case 30:
      return "phb";
    case 40:
      return "node";
    case 50:
      return "sys";
    default:
      return "";
  }
}

struct Whole {
  Device device = nullptr;
  int number = 0;  // NVML's own
  std::string pci = {};
  NvLinks links = {};
  bool is_cut = false;  // into MIG instances, which have no peer access
};

std::vector<GpuLink> links_of(const Nvml& nvml, const Whole& from, const std::vector<Whole>& all) {
  std::vector<GpuLink> links;
  for (const auto& to : all) {
    if (&to == &from || to.is_cut || from.is_cut) continue;
    const auto direct = from.links.to_gpu.find(to.pci);
    GpuLink link{.pci = to.pci};
    link.count = direct != from.links.to_gpu.end()
                     ? direct->second
                     : std::min(from.links.to_switch, to.links.to_switch);
    link.kind = link.count > 0 ? "nvlink" : "pcie";
    link.path = path_between(nvml, from.device, to.device);
    unsigned status = p2p_ok + 1;
    link.p2p = nvml.p2p_status != nullptr &&
               nvml.p2p_status(from.device, to.device, p2p_read, &status) == nvml_success &&
               status == p2p_ok;
    links.push_back(std::move(link));
  }
  return links;
}

void read_devices(const NvmlLibrary& library, const Nvml& nvml, VendorLibrary& answer) {
  const auto count = library.count();
  if (!count) {
    answer.why = count.error().what;
    return;
  }
  std::vector<Whole> wholes;
  std::vector<std::vector<Gpu>> gpus;
  for (unsigned i = 0; i < *count; ++i) {
    Whole whole{.number = static_cast<int>(i)};
    PciInfo pci{};
    const auto device = library.device(i);
    if (!device || !library.pci(*device, pci)) continue;
    whole.device = *device;
    whole.pci = nvml_pci_text(pci);
    whole.links = nvlinks_of(nvml, whole.device);
    gpus.push_back(gpus_of(nvml, whole.device, whole.pci));
    whole.is_cut = gpus.back().front().partition >= 0;
    wholes.push_back(std::move(whole));
  }
  // NVML numbers whole GPUs. If any is partitioned, each instance counts as a GPU.
  const bool any_cut = std::ranges::any_of(wholes, [](const Whole& whole) { return whole.is_cut; });
  for (std::size_t i = 0; i < wholes.size(); ++i) {
    for (auto& gpu : gpus[i]) {
      gpu.index = any_cut ? static_cast<int>(answer.gpus.size()) : wholes[i].number;
      gpu.links = links_of(nvml, wholes[i], wholes);
      answer.gpus.push_back(std::move(gpu));
    }
  }
}

}  // namespace

VendorLibrary read_nvml(const std::string& file) {
  const NvmlLibrary library(file);
  VendorLibrary answer{
      .name = "NVML", .file = file, .found = library.found(), .why = library.why()};
  if (!answer.why.empty()) return answer;
  Nvml nvml;
  find_functions(library, nvml);
  std::array<char, 128> driver{};
  if (nvml.driver_version != nullptr &&
      nvml.driver_version(driver.data(), driver.size() - 1) == nvml_success)
    answer.driver = driver.data();
  read_devices(library, nvml, answer);
  return answer;
}

}  // namespace dllaunch
