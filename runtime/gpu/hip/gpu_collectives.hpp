// The vendor's collectives, under NCCL's names for both vendors; on HIP.
#pragma once

#include <rccl/rccl.h>

namespace dllaunch {

constexpr const char* gpu_collectives = "RCCL";

}  // namespace dllaunch
