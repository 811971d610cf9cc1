#include "trainer/backends/gpu/step/graph_capture.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <utility>

#include "trainer/backends/gpu/check.hpp"

namespace dllaunch::gpu {

namespace {

/// One for all of a thread's recordings, and for good: handles of libraries go on knowing it.
GpuStream recorded_stream() {
  thread_local GpuStream stream = nullptr;
  if (stream == nullptr) check(gpu_create_stream(stream), "stream");
  return stream;
}

}  // namespace

Recordings::~Recordings() {
  clear();
}

void Recordings::clear() {
  for (const auto& [take, recording] : takes_) {
    if (recording != nullptr) static_cast<void>(gpu_forget(recording));
  }
  takes_.clear();
}

void Recordings::give_up(const std::string& why) {
  given_up_ = true;
  fmt::print(stderr, "warning: {} does not record kernels ({}): they are given one by one\n",
             gpu_vendor_api, why);
  static_cast<void>(gpu_last_error());  // told here, and to nobody else
}

GpuRecording Recordings::record(const std::function<void(GpuStream)>& enqueue) {
  const GpuStream stream = recorded_stream();
  if (const GpuStatus began = gpu_begin_recording(stream); began != gpu_success) {
    give_up(gpu_words(began));
    return nullptr;
  }
  recorded_calls() = {.recorded = true};
  enqueue(stream);
  const std::string refusal = std::exchange(recorded_calls(), {}).refusal;
  GpuRecording recording = nullptr;
  const GpuStatus ended = gpu_end_recording(stream, recording);
  if (refusal.empty() && ended == gpu_success) return recording;
  if (recording != nullptr) static_cast<void>(gpu_forget(recording));
  give_up(refusal.empty() ? gpu_words(ended) : refusal);
  return nullptr;
}

void Recordings::run(const Take& take, const std::function<void(GpuStream)>& enqueue) {
  if (given_up_) return enqueue(nullptr);
  const auto [at, first] = takes_.try_emplace(take, nullptr);
  if (!first && at->second == nullptr) at->second = record(enqueue);
  if (at->second == nullptr) return enqueue(nullptr);
  const GpuStatus played = gpu_play(at->second, nullptr);
  if (played == gpu_success) return;
  // A GPU without room for it has done nothing of it.
  give_up(gpu_words(played));
  enqueue(nullptr);
}

}  // namespace dllaunch::gpu
