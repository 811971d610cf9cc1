// Loads NVML, NVIDIA's management library, for all its users. Names, numbers and structures are
// those of nvml.h, whose ABI is stable.
#pragma once

#include <string>
#include <string_view>

#include "support/result.hpp"
#include "support/shared_library.hpp"

namespace dllaunch {

using NvmlDevice = void*;

struct NvmlPciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

struct NvmlMemory {
  unsigned long long total, free, used;  // bytes
};

constexpr int nvml_success = 0;
constexpr unsigned nvml_sm_clock = 1;
constexpr unsigned nvml_uncorrected = 1;
constexpr unsigned nvml_since_boot = 0;  // of the driver

/// "0000:c1:00.0"
std::string nvml_pci_text(const NvmlPciInfo& pci);

/// Any call may crash or hang. Use it in a child process or on a disposable thread.
class NvmlLibrary {
 public:
  explicit NvmlLibrary(const std::string& file);

  bool found() const { return found_; }  // present on this machine
  /// Why it cannot be used. The functions below may be called only if this is empty.
  const std::string& why() const { return why_; }

  /// Sets `function`, which an old driver may lack, to the symbol `name`, or to nullptr.
  template <typename Function>
  bool find(const char* name, Function*& function) const {
    return library_.find(name, function);
  }

  /// The number of GPUs, at most 1,024, without MIG instances.
  Result<unsigned> count() const;
  /// unavailable: it fell off the bus, or the cgroup hides it.
  Result<NvmlDevice> device(unsigned index) const;
  Result<NvmlDevice> device_at(const std::string& pci) const;
  bool pci(NvmlDevice device, NvmlPciInfo& pci) const;

  /// "GPU 1: GPU is lost"
  std::string why_not(std::string_view call, int status) const;

 private:
  /// Returns the first required function that is missing; empty if none is.
  std::string find_functions();

  SharedLibrary library_;
  bool found_ = false;
  std::string why_;
  int (*init_)() = nullptr;
  const char* (*error_text_)(int) = nullptr;
  int (*device_count_)(unsigned*) = nullptr;
  int (*device_)(unsigned, NvmlDevice*) = nullptr;
  int (*device_at_)(const char*, NvmlDevice*) = nullptr;
  int (*pci_)(NvmlDevice, NvmlPciInfo*) = nullptr;
};

/// Calls one of the functions that return text; empty if it fails.
std::string nvml_text(int (*ask)(NvmlDevice, char*, unsigned), NvmlDevice device);

}  // namespace dllaunch
