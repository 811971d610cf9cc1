// The module's part of a GPU backend: opens the rank's GPU and the vendor's libraries.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/gpu/device_choice.hpp"
#include "trainer/backends/gpu/layers/engine_choice.hpp"
#include "trainer/backends/gpu/math_library.hpp"
#include "trainer/backends/gpu/opening/gpu_opening.hpp"

namespace dllaunch::gpu {

struct GpuVendor {
  std::string_view backend = {};  // "cuda"
  std::span<const Precision> precisions = {};
  std::vector<LibraryVersion> libraries = {};  // loaded versions
  std::string engines =
      {};  // the build of the library whose engines are chosen: "cudnn91900-13000"
  /// Opens the libraries on the current device.
  Result<std::unique_ptr<MathLibrary>> (*open_math)(std::shared_ptr<EngineBook> book) = nullptr;
};

/// unavailable, in one line: a library has the wrong version, this rank has no GPU, or a library
/// fails to open.
Result<std::unique_ptr<Backend>> open_gpu_backend(const GpuVendor& vendor,
                                                  const GpuOpening& opening);

}  // namespace dllaunch::gpu
