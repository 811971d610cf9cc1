#include "trainer/backends/gpu/recordings.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "trainer/backends/gpu/check.hpp"

namespace dllaunch::gpu {
namespace {

/// Scales of a loss change seldom, but for as long as a run may last.
constexpr std::size_t most_takes = 1024;

}  // namespace

Recordings::~Recordings() {
  clear();
  if (stream_ != nullptr) static_cast<void>(gpu_destroy_stream(stream_));
}

void Recordings::clear() {
  for (const auto& [take, recording] : takes_) {
    if (recording != nullptr) static_cast<void>(gpu_forget(recording));
  }
  takes_.clear();
}

void Recordings::refuse(GpuStatus status) {
  trouble_ = gpu_words(status);
  fmt::print(stderr, "warning: {} does not record kernels ({}): they are given one by one\n",
             gpu_vendor_api, trouble_);
  static_cast<void>(gpu_last_error());  // told here, and to nobody else
}

GpuRecording Recordings::record(const std::function<void(GpuStream)>& enqueue) {
  if (stream_ == nullptr) check(gpu_create_stream(stream_), "stream");
  if (const GpuStatus began = gpu_begin_recording(stream_); began != gpu_success) {
    refuse(began);
    return nullptr;
  }
  enqueue(stream_);
  GpuRecording recording = nullptr;
  if (const GpuStatus ended = gpu_end_recording(stream_, recording); ended != gpu_success) {
    refuse(ended);
  }
  return recording;
}

void Recordings::run(const Take& take, const std::function<void(GpuStream)>& enqueue) {
  if (!trouble_.empty()) return enqueue(nullptr);
  if (takes_.size() >= most_takes && !takes_.contains(take)) clear();
  const auto [at, first] = takes_.try_emplace(take, nullptr);
  if (!first && at->second == nullptr) at->second = record(enqueue);
  if (at->second == nullptr) return enqueue(nullptr);
  check(gpu_play(at->second, nullptr), "recorded kernels");
}

}  // namespace dllaunch::gpu
