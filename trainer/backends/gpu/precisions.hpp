// What the GPU backends compute in. Apart, for dltrain's side of them: it sees no vendor's header.
#pragma once

#include <array>

#include "trainer/backends/backend.hpp"

namespace dllaunch::gpu {

constexpr std::array precisions{Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16};

}  // namespace dllaunch::gpu
