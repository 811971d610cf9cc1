// Precisions of the GPU backends. A separate header because dltrain must not include vendor
// headers.
#pragma once

#include <array>

#include "trainer/backends/backend.hpp"

namespace dllaunch::gpu {

constexpr std::array precisions{Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16};

}  // namespace dllaunch::gpu
