// launch(stream, count, functor): how the rest of a backend calls kernels.
#pragma once

#include <cstdint>
#include <typeinfo>

#include "gpu_api.hpp"

namespace dllaunch::gpu {

/// Runs functor(0) .. functor(count-1) in stream order: in packs (packs.hpp) if the functor has
/// them, as sums of blocks (gpu_for.hpp) if it has parts. A failure to launch is reported at once,
/// by launch_failed(). Instantiated only in kernels.cpp, for the functors of kernel_list.hpp, so
/// that only that file needs the vendor's compiler.
template <typename Functor>
void launch(GpuStream stream, std::int64_t count, const Functor& functor);

/// Names the functor. Fatal, but during graph capture it only aborts the capture, and the launches
/// are repeated individually. Defined one room above (launch_failed.cpp), which knows of captures.
void launch_failed(const std::type_info& functor, GpuStatus status);

}  // namespace dllaunch::gpu
