// Precisions of the hip backend. No TF32: AMD's libraries support it on some GPUs only.
#pragma once

#include <array>

#include "trainer/backends/backend.hpp"

namespace dllaunch::hip {

constexpr std::array precisions{Precision::fp32, Precision::bf16, Precision::fp16};

}  // namespace dllaunch::hip
