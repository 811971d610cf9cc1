// Kernels as the rest of a backend calls them: launch(stream, indexes, functor).
#pragma once

#include <cstdint>

#include "gpu_api.hpp"

namespace dllaunch::gpu {

/// Runs functor(0) .. functor(count-1) in the order of the stream. Of the functors that
/// kernel_list.hpp lists, which the vendor's compiler builds: nothing else of a backend needs that
/// one.
template <typename Functor>
void launch(GpuStream stream, std::int64_t count, const Functor& functor);

}  // namespace dllaunch::gpu
