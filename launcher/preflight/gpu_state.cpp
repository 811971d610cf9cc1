#include "launcher/preflight/gpu_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "topology/shared_library.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// ---- NVML's own structures and numbers, whose layout it promises to keep -----------------------

using Device = void*;

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

struct MemoryInfo {
  unsigned long long total, free, used;
};

constexpr int success = 0;
constexpr int too_small = 7;  // more processes than there is room for: none here
constexpr unsigned sm_clock = 1;
constexpr unsigned uncorrected = 1;
constexpr unsigned since_boot = 0;
constexpr unsigned most_devices = 1024;

struct Nvml {
  int (*init)() = nullptr;
  const char* (*error_text)(int) = nullptr;
  int (*device_count)(unsigned*) = nullptr;
  int (*device)(unsigned, Device*) = nullptr;
  int (*pci)(Device, PciInfo*) = nullptr;
  // These an old driver may lack.
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*memory)(Device, MemoryInfo*) = nullptr;
  int (*processes)(Device, unsigned*, void*) = nullptr;
  int (*slowed)(Device, unsigned long long*) = nullptr;
  int (*set_clock)(Device, unsigned, unsigned*) = nullptr;
  int (*most_clock)(Device, unsigned, unsigned*) = nullptr;
  int (*ecc_errors)(Device, unsigned, unsigned, unsigned long long*) = nullptr;
  int (*remapped)(Device, unsigned*, unsigned*, unsigned* pending, unsigned* failed) = nullptr;
  int (*link_width)(Device, unsigned*) = nullptr;
  int (*most_link_width)(Device, unsigned*) = nullptr;
};

/// Names the first function that it cannot do without.
std::string find_functions(const SharedLibrary& library, Nvml& nvml) {
  if (!library.find("nvmlInit_v2", nvml.init)) return "nvmlInit_v2";
  if (!library.find("nvmlDeviceGetCount_v2", nvml.device_count)) return "nvmlDeviceGetCount_v2";
  if (!library.find("nvmlDeviceGetHandleByIndex_v2", nvml.device))
    return "nvmlDeviceGetHandleByIndex_v2";
  if (!library.find("nvmlDeviceGetPciInfo_v3", nvml.pci) &&
      !library.find("nvmlDeviceGetPciInfo_v2", nvml.pci))
    return "nvmlDeviceGetPciInfo_v3";
  library.find("nvmlErrorString", nvml.error_text);
  library.find("nvmlDeviceGetName", nvml.name);
  library.find("nvmlDeviceGetUUID", nvml.uuid);
  library.find("nvmlDeviceGetMemoryInfo", nvml.memory);
  if (!library.find("nvmlDeviceGetComputeRunningProcesses_v3", nvml.processes))
    library.find("nvmlDeviceGetComputeRunningProcesses", nvml.processes);
  library.find("nvmlDeviceGetCurrentClocksThrottleReasons", nvml.slowed);
  library.find("nvmlDeviceGetApplicationsClock", nvml.set_clock);
  library.find("nvmlDeviceGetMaxClockInfo", nvml.most_clock);
  library.find("nvmlDeviceGetTotalEccErrors", nvml.ecc_errors);
  library.find("nvmlDeviceGetRemappedRows", nvml.remapped);
  library.find("nvmlDeviceGetCurrPcieLinkWidth", nvml.link_width);
  library.find("nvmlDeviceGetMaxPcieLinkWidth", nvml.most_link_width);
  return "";
}

std::string text_from(int (*ask)(Device, char*, unsigned), Device device) {
  std::array<char, 128> text{};
  if (ask == nullptr || ask(device, text.data(), text.size() - 1) != success) return "";
  return text.data();
}

void put_clocks(const Nvml& nvml, Device device, Json& gpu) {
  unsigned value = 0;
  if (nvml.set_clock != nullptr && nvml.set_clock(device, sm_clock, &value) == success)
    gpu["clock_mhz"] = value;
  if (nvml.most_clock != nullptr && nvml.most_clock(device, sm_clock, &value) == success)
    gpu["most_mhz"] = value;
  unsigned long long reasons = 0;
  if (nvml.slowed != nullptr && nvml.slowed(device, &reasons) == success)
    gpu["slowed"] = static_cast<std::uint64_t>(reasons);
}

void put_health(const Nvml& nvml, Device device, Json& gpu) {
  unsigned long long errors = 0;
  if (nvml.ecc_errors != nullptr &&
      nvml.ecc_errors(device, uncorrected, since_boot, &errors) == success)
    gpu["ecc_errors"] = static_cast<std::uint64_t>(errors);
  unsigned corrected = 0;
  unsigned broken = 0;
  unsigned pending = 0;
  unsigned failed = 0;
  if (nvml.remapped != nullptr &&
      nvml.remapped(device, &corrected, &broken, &pending, &failed) == success) {
    gpu["remap_pending"] = pending != 0;
    gpu["remap_failed"] = failed != 0;
  }
  unsigned width = 0;
  if (nvml.link_width != nullptr && nvml.link_width(device, &width) == success)
    gpu["link_width"] = width;
  if (nvml.most_link_width != nullptr && nvml.most_link_width(device, &width) == success)
    gpu["most_link_width"] = width;
}

Json state_of(const Nvml& nvml, Device device, unsigned index, const PciInfo& pci) {
  Json gpu{{"index", index},
           {"pci", fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device)},
           {"name", text_from(nvml.name, device)},
           {"uuid", text_from(nvml.uuid, device)}};
  MemoryInfo memory{};
  if (nvml.memory != nullptr && nvml.memory(device, &memory) == success) {
    gpu["total_bytes"] = static_cast<std::uint64_t>(memory.total);
    gpu["used_bytes"] = static_cast<std::uint64_t>(memory.used);
  }
  unsigned count = 0;
  if (nvml.processes != nullptr) {
    const int status = nvml.processes(device, &count, nullptr);
    if (status == success || status == too_small) gpu["processes"] = count;
  }
  put_clocks(nvml, device, gpu);
  put_health(nvml, device, gpu);
  return gpu;
}

std::string why_not(const Nvml& nvml, std::string_view call, int status) {
  const char* text = nvml.error_text == nullptr ? nullptr : nvml.error_text(status);
  if (text == nullptr) return fmt::format("{} failed with {}", call, status);
  return fmt::format("{}: {}", call, text);
}

/// The first line of a file; empty where it cannot be read.
std::string line_of(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::uint64_t number_in(const fs::path& path) {
  const auto text = line_of(path);
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') break;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::vector<fs::path> entries_of(const std::string& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    found.push_back(at->path());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

Json read_nvml_states(const std::string& file) {
  Json answer{{"found", false}, {"why", ""}, {"gpus", Json::array()}};
  const SharedLibrary library(file);
  if (!library.opened()) {
    answer["found"] = !library.why().empty();
    answer["why"] = library.why().empty() ? file + " is not on this machine" : library.why();
    return answer;
  }
  answer["found"] = true;
  Nvml nvml;
  if (const auto missing = find_functions(library, nvml); !missing.empty()) {
    answer["why"] = fmt::format("{} has no {}", file, missing);
    return answer;
  }
  if (const int status = nvml.init(); status != success) {
    answer["why"] = why_not(nvml, "nvmlInit", status);
    return answer;
  }
  unsigned count = 0;
  if (const int status = nvml.device_count(&count); status != success) {
    answer["why"] = why_not(nvml, "nvmlDeviceGetCount", status);
    return answer;
  }
  for (unsigned i = 0; i < std::min(count, most_devices); ++i) {
    Device device = nullptr;
    PciInfo pci{};
    // A GPU that fell off the bus, or that the cgroup hides.
    const int status = nvml.device(i, &device);
    if (status != success) {
      answer["why"] = why_not(nvml, fmt::format("GPU {}", i), status);
      continue;
    }
    if (nvml.pci(device, &pci) != success) continue;
    answer["gpus"].push_back(state_of(nvml, device, i, pci));
  }
  return answer;
}

Json read_amd_states(const std::string& root) {
  Json answer{{"found", false}, {"why", ""}, {"gpus", Json::array()}};
  for (const auto& card : entries_of(root + "/sys/class/drm")) {
    const auto name = card.filename().string();
    if (!name.starts_with("card") || !all_digits(std::string_view(name).substr(4))) continue;
    const auto device = card / "device";
    if (line_of(device / "vendor") != "0x1002") continue;
    const auto total = number_in(device / "mem_info_vram_total");
    if (total == 0) continue;  // no accelerator, or its driver has given up
    std::error_code error;
    answer["gpus"].push_back({{"index", answer["gpus"].size()},
                              {"pci", fs::canonical(device, error).filename().string()},
                              {"total_bytes", total},
                              {"used_bytes", number_in(device / "mem_info_vram_used")}});
  }
  answer["found"] = !answer["gpus"].empty();
  return answer;
}

int count_nvidia_files(const std::string& root) {
  int count = 0;
  for (const auto& path : entries_of(root + "/dev")) {
    const auto name = path.filename().string();
    if (name.starts_with("nvidia") && all_digits(std::string_view(name).substr(6))) ++count;
  }
  return count;
}

}  // namespace dllaunch
