// A vendor's backend within its module: the rank's own GPU, and the vendor's libraries on it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/gpu/device_choice.hpp"
#include "trainer/backends/gpu/layers/convolution_autotune.hpp"
#include "trainer/backends/gpu/math_library.hpp"
#include "trainer/backends/gpu/opening/gpu_opening.hpp"

namespace dllaunch::gpu {

struct GpuVendor {
  std::string_view backend = {};  // "cuda"
  std::span<const Precision> precisions = {};
  std::vector<LibraryVersion> libraries = {};  // as they are loaded
  /// On the current device.
  Result<std::unique_ptr<MathLibrary>> (*open_math)(AutotuneCache cache) = nullptr;
};

/// unavailable: a library of another version, no GPU for this rank, or what a library says; the
/// first of them in one line.
Result<std::unique_ptr<Backend>> open_gpu_backend(const GpuVendor& vendor,
                                                  const GpuOpening& opening);

}  // namespace dllaunch::gpu
