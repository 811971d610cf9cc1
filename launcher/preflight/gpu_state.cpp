#include "launcher/preflight/gpu_state.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "topology/discovery/nvml_library.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

using Device = NvmlDevice;

constexpr int success = nvml_success;
constexpr int too_small = 7;  // the buffer is too small

/// Functions that an old driver may lack.
struct Nvml {
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*memory)(Device, NvmlMemory*) = nullptr;
  int (*processes)(Device, unsigned*, void*) = nullptr;
  int (*slowed)(Device, unsigned long long*) = nullptr;
  int (*set_clock)(Device, unsigned, unsigned*) = nullptr;
  int (*most_clock)(Device, unsigned, unsigned*) = nullptr;
  int (*ecc_errors)(Device, unsigned, unsigned, unsigned long long*) = nullptr;
  int (*remapped)(Device, unsigned*, unsigned*, unsigned* pending, unsigned* failed) = nullptr;
  int (*link_width)(Device, unsigned*) = nullptr;
  int (*most_link_width)(Device, unsigned*) = nullptr;
};

void find_functions(const NvmlLibrary& library, Nvml& nvml) {
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
}

void put_clocks(const Nvml& nvml, Device device, Json& gpu) {
  unsigned value = 0;
  if (nvml.set_clock != nullptr && nvml.set_clock(device, nvml_sm_clock, &value) == success)
    gpu["clock_mhz"] = value;
  if (nvml.most_clock != nullptr && nvml.most_clock(device, nvml_sm_clock, &value) == success)
    gpu["most_mhz"] = value;
  unsigned long long reasons = 0;
  if (nvml.slowed != nullptr && nvml.slowed(device, &reasons) == success)
    gpu["slowed"] = static_cast<std::uint64_t>(reasons);
}

void put_health(const Nvml& nvml, Device device, Json& gpu) {
  unsigned long long errors = 0;
  if (nvml.ecc_errors != nullptr &&
      nvml.ecc_errors(device, nvml_uncorrected, nvml_since_boot, &errors) == success)
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

Json state_of(const Nvml& nvml, Device device, unsigned index, const NvmlPciInfo& pci) {
  Json gpu{{"index", index},
           {"pci", nvml_pci_text(pci)},
           {"name", nvml_text(nvml.name, device)},
           {"uuid", nvml_text(nvml.uuid, device)}};
  NvmlMemory memory{};
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

/// Returns the first line of a file; empty if unreadable.
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
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::vector<fs::path> entries_of(const std::string& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    found.push_back(at->path());
  std::ranges::sort(found);
  return found;
}

}  // namespace

Json read_nvml_states(const std::string& file) {
  const NvmlLibrary library(file);
  Json answer{{"found", library.found()}, {"why", library.why()}, {"gpus", Json::array()}};
  if (!library.why().empty()) return answer;
  Nvml nvml;
  find_functions(library, nvml);
  const auto count = library.count();
  if (!count) {
    answer["why"] = count.error().what;
    return answer;
  }
  for (unsigned i = 0; i < *count; ++i) {
    const auto device = library.device(i);
    NvmlPciInfo pci{};
    if (!device) answer["why"] = device.error().what;
    if (!device || !library.pci(*device, pci)) continue;
    answer["gpus"].push_back(state_of(nvml, *device, i, pci));
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
    if (total == 0) continue;  // not a GPU, or its driver has failed
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
