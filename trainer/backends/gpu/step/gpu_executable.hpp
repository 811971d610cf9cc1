// Runs a graph on a GPU: channels last, the libraries' convolutions and matrix products, our own
// kernels for the rest. One source for CUDA, HIP and the host (in tests).
#pragma once

#include <memory>
#include <string_view>

#include "support/result.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/backends/gpu/math_library.hpp"

namespace dllaunch::gpu {

/// Compiles the graph for the current device. Allocates all memory except attach()'s here, in one
/// piece. bad_request: a precision not in gpu::precisions. Throws OutOfGpuMemory, which says what
/// would fit.
Result<std::unique_ptr<Executable>> compile_for_gpu(std::string_view backend, const Graph& graph,
                                                    const CompileOptions& options,
                                                    MathLibrary& library);

}  // namespace dllaunch::gpu
