// The vendor's collectives, under NCCL's names for both vendors; on CUDA.
#pragma once

#include <nccl.h>

namespace dllaunch {

constexpr const char* gpu_collectives = "NCCL";

}  // namespace dllaunch
