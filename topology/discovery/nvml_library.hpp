// NVIDIA's management library, opened: what everybody who asks it begins with. Names, numbers and
// structures are its own, which it promises to keep (nvml.h).
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

/// It may crash or hang whatever it is asked, so whoever uses it does so in a child process or on a
/// thread that can be left behind.
class NvmlLibrary {
 public:
  explicit NvmlLibrary(const std::string& file);

  bool found() const { return found_; }  // it is on this machine
  /// Why it cannot be asked; empty: it can, and then the functions below may be called.
  const std::string& why() const { return why_; }

  /// Sets `function`, which an old driver may lack, to the symbol `name`, or to nullptr.
  template <typename Function>
  bool find(const char* name, Function*& function) const {
    return library_.find(name, function);
  }

  /// GPUs, at most 1,024; MIG instances are not counted.
  Result<unsigned> count() const;
  /// unavailable: one that fell off the bus, or that the cgroup hides.
  Result<NvmlDevice> device(unsigned index) const;
  Result<NvmlDevice> device_at(const std::string& pci) const;
  bool pci(NvmlDevice device, NvmlPciInfo& pci) const;

  /// "GPU 1: GPU is lost"
  std::string why_not(std::string_view call, int status) const;

 private:
  /// Names the first function that it cannot do without.
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

/// What one of the functions that give a text says of `device`; empty where it does not.
std::string nvml_text(int (*ask)(NvmlDevice, char*, unsigned), NvmlDevice device);

}  // namespace dllaunch
