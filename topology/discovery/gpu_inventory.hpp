// What the GPU vendors' management libraries know beyond hwloc: names, UUIDs, links, MIG instances
// and partition modes. They are opened at run time, so dllaunch links none of them.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "support/json.hpp"
#include "support/result.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

/// One library's answer. A machine without the library is normal, not a failure.
struct VendorLibrary {
  std::string name = {};       // "NVML", "ROCm SMI"
  std::string file = {};       // "libnvidia-ml.so.1"
  bool found = false;          // present on this machine
  std::string driver = {};     // version of the kernel driver, "550.54.15"; empty if unknown
  std::string why = {};        // why there is no answer: not installed, no driver, hung, crashed
  std::vector<Gpu> gpus = {};  // by index; cpus, numa, package and pci_path stay empty
};

struct GpuLibraries {
  std::string nvml = "libnvidia-ml.so.1";
  std::string rocm_smi = "librocm_smi64.so";
  /// Without persistence mode the driver wakes each GPU, which takes a second or two.
  std::chrono::milliseconds deadline{15000};
};

/// Queries both libraries, each in a child process. One that crashes or hangs costs its answer and
/// at most the deadline. `dllaunch exec`, which every rank runs, never calls this.
std::vector<VendorLibrary> observe_gpus(const GpuLibraries& libraries = {});

/// Returns `node` plus what the libraries add: indexes, UUIDs, modes and links by PCI address, one
/// Gpu for each partition that a library distinguishes, and GPUs that only a library saw (of
/// unknown locality, as in topology_from_counts()). Keeps the names, places and GPUs found by
/// hwloc. Pure.
Topology with_inventory(Topology node, const std::vector<VendorLibrary>& libraries);

Json to_json(const VendorLibrary& library);
Result<VendorLibrary> vendor_library_from_json(const Json& document);

}  // namespace dllaunch
