// What the hip backend computes in: of the GPU backends' precisions all but TF32, which AMD's
// libraries have on some GPUs only.
#pragma once

#include <array>

#include "trainer/backends/backend.hpp"

namespace dllaunch::hip {

constexpr std::array precisions{Precision::fp32, Precision::bf16, Precision::fp16};

}  // namespace dllaunch::hip
