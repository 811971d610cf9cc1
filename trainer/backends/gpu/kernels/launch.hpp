// Kernels as the rest of a backend calls them: launch(stream, indexes, body).
#pragma once

#include <cstdint>

#include "gpu_api.hpp"

namespace dllaunch::gpu {

/// Runs body(0) .. body(count-1) in the order of the stream. Of the bodies that kernels.cpp lists,
/// which the vendor's compiler builds: nothing else of a backend needs that one.
template <typename Body>
void launch(GpuStream stream, std::int64_t count, const Body& body);

}  // namespace dllaunch::gpu
