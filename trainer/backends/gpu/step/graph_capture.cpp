#include "trainer/backends/gpu/step/graph_capture.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <utility>

#include "trainer/backends/gpu/check.hpp"

namespace dllaunch::gpu {

namespace {

/// One stream per thread, never destroyed: library handles keep referring to it.
GpuStream capture_stream() {
  thread_local GpuStream stream = nullptr;
  if (stream == nullptr) check(gpu_create_stream(stream), "stream");
  return stream;
}

}  // namespace

GraphCapture::~GraphCapture() {
  clear();
}

void GraphCapture::clear() {
  for (const auto& [key, graph] : graphs_) {
    if (graph != nullptr) static_cast<void>(gpu_destroy_graph(graph));
  }
  graphs_.clear();
}

void GraphCapture::give_up(const std::string& why) {
  given_up_ = true;
  fmt::print(stderr, "warning: {} graph capture failed ({}); launching kernels individually\n",
             gpu_vendor_api, why);
  gpu_clear_error();  // it is reported here
}

GpuGraph GraphCapture::capture(const std::function<void(GpuStream)>& enqueue) {
  const GpuStream stream = capture_stream();
  if (const GpuStatus began = gpu_begin_capture(stream); began != gpu_success) {
    give_up(gpu_words(began));
    return nullptr;
  }
  capture_state() = {.active = true};
  enqueue(stream);
  const std::string failure = std::exchange(capture_state(), {}).failure;
  GpuGraph graph = nullptr;
  const GpuStatus ended = gpu_end_capture(stream, graph);
  if (failure.empty() && ended == gpu_success) return graph;
  if (graph != nullptr) static_cast<void>(gpu_destroy_graph(graph));
  give_up(failure.empty() ? gpu_words(ended) : failure);
  return nullptr;
}

void GraphCapture::run(const CaptureKey& key, const std::function<void(GpuStream)>& enqueue) {
  if (given_up_) return enqueue(nullptr);
  const auto [at, first] = graphs_.try_emplace(key, nullptr);
  if (!first && at->second == nullptr) at->second = capture(enqueue);
  if (at->second == nullptr) return enqueue(nullptr);
  const GpuStatus launched = gpu_launch_graph(at->second, nullptr);
  if (launched == gpu_success) return;
  // A failed launch (out of memory) has run none of the work.
  give_up(gpu_words(launched));
  enqueue(nullptr);
}

}  // namespace dllaunch::gpu
