// Measures how fast a GPU reads pinned host memory of each NUMA node. Loads the vendor's library at
// run time; does not link CUDA or HIP.
#pragma once

#include <string>
#include <vector>

#include "support/id_set.hpp"
#include "support/result.hpp"

namespace dllaunch {

struct CopySource {
  int numa = 0;
  IdSet cpus = {};  // where the copying thread runs
};

struct PinnedCopy {
  std::string pci = {};  // "0000:c1:00.0", lower case
  int numa = 0;
  double gb_per_s = 0;
};

/// The vendors' libraries, by file name or path.
struct GpuDrivers {
  std::string cuda = "libcuda.so.1";
  std::vector<std::string> hip = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6",
                                  "libamdhip64.so.5"};
};

/// Copies 64 MiB of page-locked memory of each node to each GPU, six times; the first is a warm-up.
/// Reports 64 MiB over the median time, 1 GB = 1e9 bytes. Runs in a child process, since drivers
/// may crash or hang. unavailable: neither library is installed, or it finds no GPU.
Result<std::vector<PinnedCopy>> measure_pinned_copies(const std::vector<CopySource>& sources,
                                                      const GpuDrivers& drivers = {});

}  // namespace dllaunch
