// A call that a GPU's library refuses in the middle of the work ends the rank.
#pragma once

#include <string>
#include <string_view>

#include "gpu_api.hpp"
#include "runtime/fatal.hpp"

namespace dllaunch::gpu {

inline void check(GpuStatus status, std::string_view call) {
  if (status == gpu_success) return;
  die(gpu_vendor_api, std::string(call) + ": " + gpu_words(status));
}

}  // namespace dllaunch::gpu
