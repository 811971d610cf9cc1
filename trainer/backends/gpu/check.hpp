// A call that a GPU's library refuses in the middle of the work ends the rank.
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

/// What a library refused to this thread while its calls are recorded.
struct RecordedCalls {
  bool recorded = false;
  std::string refusal = {};
};
inline RecordedCalls& recorded_calls() {
  thread_local RecordedCalls calls;
  return calls;
}

/// Of a library's call that did not do its work: the end of the rank, but while calls are recorded
/// only of the recording, after which the same calls come again.
inline void refused(std::string_view library, std::string why) {
  RecordedCalls& calls = recorded_calls();
  if (!calls.recorded) die(library, why);
  if (calls.refusal.empty()) calls.refusal = std::string(library) + ": " + std::move(why);
}

}  // namespace dllaunch::gpu
