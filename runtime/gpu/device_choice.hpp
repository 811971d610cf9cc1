// Chooses the GPU of a rank, and checks that the libraries fit the driver. Pure: what the vendor's
// library reports comes in as values.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// A GPU that the runtime reports. Its index in the span is the runtime's device number.
struct SeenGpu {
  std::string pci = {};  // as the runtime writes it: "0000:C1:00.0"
};

/// Normalizes "00000000:C1:00.0" (NVML) and "0000:C1:00.0" (CUDA) to "0000:c1:00.0".
std::string plain_pci_address(std::string_view address);

/// The rank's GPUs by PCI address, if the launcher set them; otherwise its position among the
/// node's ranks decides.
struct GpuWish {
  std::vector<std::string> pci = {};
  int local_rank = 0;
};

/// Returns the index of the rank's device. With addresses, it is the first of them that is seen;
/// indexes mean nothing, since CUDA orders by speed and sees what the VISIBLE_DEVICES variables
/// leave. Without addresses, it is the only one seen (one GPU per task, a MIG slice, MPS); else the
/// one of the local rank in PCI order, wrapping around.
/// unavailable: no GPU is seen, or none of the rank's own.
Result<int> choose_gpu(std::span<const SeenGpu> seen, const GpuWish& wish);

/// Reads this rank's variables.
GpuWish read_gpu_wish(const RankEnv& rank, const EnvLookup& lookup);

/// How a vendor encodes versions as one number: the units of major and minor; the rest is the
/// patch.
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
  int needed = 0;  // the version this build was compiled with
  VersionUnits units = {};
  /// A driver runs programs of every older toolkit, and of newer ones with the same major version.
  bool is_driver = false;
};

/// Returns nullopt, or unavailable: "found cuDNN 8.9.7, this build needs 9.19 or a later 9". A
/// library must have the same major version and not be older than the headers; for the driver see
/// above.
std::optional<Error> version_problem(const LibraryVersion& library);

}  // namespace dllaunch
