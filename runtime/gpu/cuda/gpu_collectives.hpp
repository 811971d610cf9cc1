// The vendor's collectives, which go by NCCL's names in both: this one for CUDA.
#pragma once

#include <nccl.h>

namespace dllaunch {

constexpr const char* gpu_collectives = "NCCL";

}  // namespace dllaunch
