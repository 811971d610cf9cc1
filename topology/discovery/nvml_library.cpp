#include "topology/discovery/nvml_library.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace dllaunch {
namespace {

constexpr unsigned most_devices = 1024;

}  // namespace

std::string nvml_pci_text(const NvmlPciInfo& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
}

NvmlLibrary::NvmlLibrary(const std::string& file) : library_(file) {
  found_ = library_.opened() || !library_.why().empty();
  if (!library_.opened()) {
    why_ = library_.why().empty() ? file + " is not on this machine" : library_.why();
    return;
  }
  if (const auto missing = find_functions(); !missing.empty()) {
    why_ = fmt::format("{} has no {}", file, missing);
    return;
  }
  if (const int status = init_(); status != nvml_success) why_ = why_not("nvmlInit", status);
}

std::string NvmlLibrary::find_functions() {
  if (!find("nvmlInit_v2", init_)) return "nvmlInit_v2";
  if (!find("nvmlDeviceGetCount_v2", device_count_)) return "nvmlDeviceGetCount_v2";
  if (!find("nvmlDeviceGetHandleByIndex_v2", device_)) return "nvmlDeviceGetHandleByIndex_v2";
  if (!find("nvmlDeviceGetPciInfo_v3", pci_) && !find("nvmlDeviceGetPciInfo_v2", pci_))
    return "nvmlDeviceGetPciInfo_v3";
  find("nvmlErrorString", error_text_);
  find("nvmlDeviceGetHandleByPciBusId_v2", device_at_);
  return "";
}

Result<unsigned> NvmlLibrary::count() const {
  unsigned count = 0;
  const int status = device_count_(&count);
  if (status == nvml_success) return std::min(count, most_devices);
  return Error{ErrorKind::unavailable, why_not("nvmlDeviceGetCount", status), ""};
}

Result<NvmlDevice> NvmlLibrary::device(unsigned index) const {
  NvmlDevice device = nullptr;
  const int status = device_(index, &device);
  if (status == nvml_success) return device;
  return Error{ErrorKind::unavailable, why_not(fmt::format("GPU {}", index), status), ""};
}

Result<NvmlDevice> NvmlLibrary::device_at(const std::string& pci) const {
  if (device_at_ == nullptr)
    return Error{ErrorKind::unavailable, "the driver has no nvmlDeviceGetHandleByPciBusId_v2", ""};
  NvmlDevice device = nullptr;
  const int status = device_at_(pci.c_str(), &device);
  if (status == nvml_success) return device;
  return Error{ErrorKind::unavailable, why_not("GPU " + pci, status), ""};
}

bool NvmlLibrary::pci(NvmlDevice device, NvmlPciInfo& pci) const {
  return pci_(device, &pci) == nvml_success;
}

std::string NvmlLibrary::why_not(std::string_view call, int status) const {
  const char* text = error_text_ == nullptr ? nullptr : error_text_(status);
  if (text == nullptr) return fmt::format("{} failed with {}", call, status);
  return fmt::format("{}: {}", call, text);
}

std::string nvml_text(int (*ask)(NvmlDevice, char*, unsigned), NvmlDevice device) {
  std::array<char, 128> text{};
  if (ask == nullptr || ask(device, text.data(), text.size() - 1) != nvml_success) return "";
  return text.data();
}

}  // namespace dllaunch
