// What the GPU vendors' management libraries know beyond hwloc: names, UUIDs, links, MIG instances
// and partition modes. They are opened by name at run time, so dllaunch links neither.
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
  bool found = false;          // it is on this machine
  std::string driver = {};     // version of the kernel driver, "550.54.15"; empty when not answered
  std::string why = {};        // why there is no answer: not installed, no driver, it hung, it died
  std::vector<Gpu> gpus = {};  // by index; cpus, numa, package and pci_path are not its to say
};

struct GpuLibraries {
  std::string nvml = "libnvidia-ml.so.1";
  std::string rocm_smi = "librocm_smi64.so";
  /// A driver without persistence wakes each GPU up, which takes it a second or two.
  std::chrono::milliseconds deadline{15000};
};

/// Asks both libraries, each in a child process: one that crashes or hangs costs its answer and, at
/// worst, the deadline. Never called by `dllaunch exec`, which every rank runs.
std::vector<VendorLibrary> observe_gpus(const GpuLibraries& libraries = {});

/// `node` with what the libraries add: indexes, UUIDs, modes and links by PCI address, one Gpu for
/// every partition that a library tells apart, GPUs that only a library saw (of unknown locality,
/// like those of topology_from_counts()). Names, places and GPUs that hwloc found stay. Pure.
Topology with_inventory(Topology node, const std::vector<VendorLibrary>& libraries);

Json to_json(const VendorLibrary& library);
Result<VendorLibrary> vendor_library_from_json(const Json& document);

}  // namespace dllaunch
