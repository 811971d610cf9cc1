// A graph as a GPU runs it: channels last, kernels of ours between the library's convolutions and
// products. One source for CUDA and HIP, and for the tests' host in place of a GPU.
#pragma once

#include <memory>
#include <string_view>

#include "support/result.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/backends/gpu/math_library.hpp"

namespace dllaunch::gpu {

/// One of gpu::precisions; bad_request: another, by name. The current device is the rank's own. All
/// memory but that of attach() is allocated here, in one piece: OutOfGpuMemory says what would fit.
Result<std::unique_ptr<Executable>> compile_for_gpu(std::string_view backend, const Graph& graph,
                                                    const CompileOptions& options,
                                                    MathLibrary& library);

}  // namespace dllaunch::gpu
