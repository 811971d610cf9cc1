// Which of a node's GPUs a rank drives, and whether the libraries that drive it fit. Pure: what the
// vendor's library says of this process comes in as values.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Index i of the span that the functions below take is the runtime's device i.
struct SeenGpu {
  std::string pci = {};  // as the runtime writes it: "0000:C1:00.0"
};

/// "00000000:C1:00.0" (NVML) and "0000:C1:00.0" (CUDA) are "0000:c1:00.0".
std::string plain_pci_address(std::string_view address);

/// Whose turn it is: the rank's own GPUs by PCI address, where whoever started it said so; else
/// its place among the node's ranks decides.
struct GpuWish {
  std::vector<std::string> pci = {};
  int local_rank = 0;
};

/// The index of the rank's device. With addresses: the first of them that is seen; an index says
/// nothing, since CUDA counts by speed and sees what the VISIBLE_DEVICES variables leave. Without:
/// the only one seen, which is what one GPU a task, a MIG slice and MPS leave; else, in PCI order,
/// the one of the local rank, and ranks beyond the last begin again at the first.
/// unavailable: none is seen, or none of the rank's own.
Result<int> choose_gpu(std::span<const SeenGpu> seen, const GpuWish& wish);

/// The variables of this rank.
GpuWish read_gpu_wish(const RankEnv& rank, const EnvLookup& lookup);

/// How a vendor writes versions as one number: its units for major and minor, and what is left.
struct VersionUnits {
  int major = 10000;  // cuDNN 9, NCCL
  int minor = 100;
  int patch = 1;
};
constexpr VersionUnits cuda_units{.major = 1000, .minor = 10, .patch = 0};
constexpr VersionUnits hip_units{.major = 10000000, .minor = 100000, .patch = 1};

std::string version_text(int version, const VersionUnits& units);

struct LibraryVersion {
  std::string name = {};  // "cuDNN"
  int found = 0;
  int needed = 0;  // what this build was compiled with
  VersionUnits units = {};
  /// A driver runs programs of every older toolkit, and of newer ones with its own major number.
  bool is_driver = false;
};

/// nothing, or unavailable: "cuDNN 8.9.7 is here, this build needs 9.19 or a later 9". Of libraries
/// the same major number, and none older than the headers; of the driver see above.
std::optional<Error> version_problem(const LibraryVersion& library);

}  // namespace dllaunch
