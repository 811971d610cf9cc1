// Failures of GPU and library calls: fatal, except library failures during graph capture.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "gpu_api.hpp"
#include "support/fatal.hpp"

namespace dllaunch::gpu {

inline void check(GpuStatus status, std::string_view call) {
  if (status == gpu_success) return;
  die(gpu_vendor_api, std::string(call) + ": " + gpu_words(status));
}

/// The calling thread's graph capture, and the first library failure during it.
struct CaptureState {
  bool active = false;
  std::string failure = {};
};
inline CaptureState& capture_state() {
  thread_local CaptureState state;
  return state;
}

/// Reports a failed library call. Fatal, but during graph capture it only aborts the capture, and
/// the calls are repeated eagerly.
inline void library_failed(std::string_view library, std::string why) {
  CaptureState& capture = capture_state();
  if (!capture.active) die(library, why);
  if (capture.failure.empty()) capture.failure = std::string(library) + ": " + std::move(why);
}

}  // namespace dllaunch::gpu
