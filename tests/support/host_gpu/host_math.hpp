// Convolutions and products by plain loops, for the host in place of a GPU.
#pragma once

#include "trainer/backends/gpu/math_library.hpp"

namespace dllaunch::gpu {

/// Numbers of `type` at once; the workspace it asks for is written over, to catch who leans on it.
std::unique_ptr<MathLibrary> make_host_math();

}  // namespace dllaunch::gpu
