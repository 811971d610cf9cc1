// The vendor's collectives, which go by NCCL's names in both: this one for HIP.
#pragma once

#include <rccl/rccl.h>

namespace dllaunch {

constexpr const char* gpu_collectives = "RCCL";

}  // namespace dllaunch
