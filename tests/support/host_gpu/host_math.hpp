// Convolutions and matrix products by plain loops, for the host instead of a GPU.
#pragma once

#include "trainer/backends/gpu/math_library.hpp"

namespace dllaunch::gpu {

/// Computes in `type` at once. Overwrites the workspace it asks for, to expose code that relies on
/// it.
std::unique_ptr<MathLibrary> make_host_math();

}  // namespace dllaunch::gpu
