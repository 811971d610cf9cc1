// GPUs for machines without one: the interface of runtime/gpu/*/gpu_api.hpp, run by the host.
// Rejects what would fail on real ones: another device's memory, out-of-memory, use after free.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/gpu/device_choice.hpp"

namespace dllaunch {

enum class GpuStatus {
  success,
  not_ready,
  out_of_memory,
  no_device,
  wrong_device,
  capturing,
  launch_failed,
  taken,
  no_service
};
/// Replayed as captured: by-value arguments keep their values.
struct HostGraph {
  std::vector<std::function<void()>> work = {};
  int device = 0;
};
constexpr std::size_t host_graph_bytes = 4096;  // of its device
using GpuGraph = HostGraph*;
/// Work on a stream runs in order, and only when something waits for it; on the default one,
/// nullptr, at once, unless HostGpus::defers.
struct HostStream {
  std::deque<std::function<bool()>> work = {};  // each returns true when done
  std::uint64_t given = 0;
  std::uint64_t done = 0;
  std::uint64_t follows = 0;  // work of the default stream that precedes what is added next
};
using GpuStream = HostStream*;
struct HostEvent {
  HostStream* stream = nullptr;
  std::uint64_t at = 0;        // the amount of work on its stream then
  float ms = 0;                // by the clock, on the default stream
  std::uint64_t deferred = 0;  // the amount of deferred work of the default stream then
};
using GpuEvent = HostEvent*;

constexpr GpuStatus gpu_success = GpuStatus::success;
constexpr GpuStatus gpu_not_ready = GpuStatus::not_ready;
constexpr GpuStatus gpu_out_of_memory = GpuStatus::out_of_memory;
constexpr const char* gpu_vendor_api = "host";
constexpr int gpu_built_with = 13000;
constexpr VersionUnits gpu_version_units = cuda_units;

/// Set or inspected by tests.
struct HostGpus {
  std::vector<std::string> pci = {"0000:01:00.0"};
  int driver = 13000;
  std::string properties = "Host in place of a GPU,0.0,1,1";
  std::size_t bytes_each = std::size_t{4} << 30;
  GpuStatus counting = GpuStatus::success;  // what gpu_count_devices() returns
  bool is_exclusive = false;                // every GPU is held by another process

  struct Piece {
    std::size_t bytes = 0;
    int device = 0;
  };
  std::map<const std::byte*, Piece> pieces = {};
  std::map<int, std::size_t> in_use = {};
  std::size_t most_in_use = 0;                            // of any device, after an allocation
  std::size_t allocations = 0;                            // so far
  std::map<const void*, std::size_t> pinned_pieces = {};  // on the host
  std::size_t pinned = 0;                                 // total bytes
  bool refuses_pinning = false;
  std::uint64_t follows = 0;  // the default stream's work that a copy on another stream follows
  std::size_t kernels = 0;    // launched individually
  std::size_t replays = 0;    // of graphs
  std::size_t graphs = 0;     // alive
  std::set<const HostStream*> streams = {};  // alive
  bool refuses_capture = false;
  bool refuses_replay = false;
  bool refuses_library_calls = false;  // during a capture
  int launches_until_failure = -1;     // 0: the next one fails, as if it were never made; -1: none
  bool defers = false;       // the default stream's work too waits until something waits for it
  HostStream deferred = {};  // that work
  float clock_ms = 0;        // stands still until a test moves it
  std::size_t beside = 0;    // bytes copied on other streams than the default one, so far
  std::mutex mutex = {};
};
inline HostGpus& host_gpus() {
  static HostGpus gpus;
  return gpus;
}
/// Per thread, as on real GPUs.
inline int& host_gpu_of_thread() {
  thread_local int device = 0;
  return device;
}
/// The amount of work that this thread has put on its device's default stream.
inline std::uint64_t& host_gpu_work() {
  thread_local std::uint64_t given = 0;
  return given;
}
/// This thread's capture and its stream.
struct HostRecorder {
  GpuStream stream = nullptr;
  GpuGraph kept = nullptr;
};
inline HostRecorder& host_gpu_recorder() {
  thread_local HostRecorder recorder;
  return recorder;
}
inline bool host_gpu_captures() {
  return host_gpu_recorder().kept != nullptr;
}
/// Whether `work` was captured rather than run. On a stream that is not captured it would run once,
/// outside the capture.
inline bool host_gpu_keeps(GpuStream stream, const std::function<void()>& work) {
  if (!host_gpu_captures()) return false;
  if (stream != host_gpu_recorder().stream) std::abort();
  host_gpu_recorder().kept->work.push_back(work);
  return true;
}
inline bool host_gpu_refuses_launch() {
  int& left = host_gpus().launches_until_failure;
  return left >= 0 && left-- == 0;
}
/// Runs the stream's work up to `until`.
inline void host_gpu_run(HostStream& stream, std::uint64_t until) {
  while (stream.done < until) {
    if (!stream.work.front()()) continue;
    stream.work.pop_front();
    ++stream.done;
  }
}
/// Each returns true when done.
inline void host_gpu_put(HostStream& stream, std::function<bool()> work) {
  stream.work.push_back(std::move(work));
  ++stream.given;
}
/// On the default stream.
inline void host_gpu_run_or_defer(const std::function<void()>& work) {
  if (!host_gpus().defers) return work();
  host_gpu_put(host_gpus().deferred, [work] {
    work();
    return true;
  });
}
/// A library's work on a stream.
inline void host_gpu_compute(GpuStream stream, const std::function<void()>& work) {
  if (host_gpu_keeps(stream, work)) return;
  ++host_gpus().kernels;
  host_gpu_run_or_defer(work);
}
/// The device on which the byte is; -1: host memory.
inline int host_gpu_of(const void* memory) {
  HostGpus& gpus = host_gpus();
  const std::lock_guard lock(gpus.mutex);
  const auto* byte = static_cast<const std::byte*>(memory);
  auto behind = gpus.pieces.upper_bound(byte);
  if (behind == gpus.pieces.begin()) return -1;
  const auto& [start, piece] = *--behind;
  return byte < start + piece.bytes ? piece.device : -1;
}
/// The offset from the beginning of its allocation; -1: host memory.
inline std::int64_t host_gpu_offset(const void* memory) {
  HostGpus& gpus = host_gpus();
  const std::lock_guard lock(gpus.mutex);
  const auto* byte = static_cast<const std::byte*>(memory);
  auto behind = gpus.pieces.upper_bound(byte);
  if (behind == gpus.pieces.begin()) return -1;
  const auto& [start, piece] = *--behind;
  return byte < start + piece.bytes ? byte - start : -1;
}
/// Whether the current thread's device may access it.
inline bool host_gpu_reaches(const void* memory) {
  const int device = host_gpu_of(memory);
  return device < 0 || device == host_gpu_of_thread();
}

inline const char* gpu_words(GpuStatus status) {
  switch (status) {
    case GpuStatus::success:
      return "no error";
    case GpuStatus::not_ready:
      return "not ready";
    case GpuStatus::out_of_memory:
      return "out of memory";
    case GpuStatus::no_device:
      return "no such device";
    case GpuStatus::wrong_device:
      return "memory of another device";
    case GpuStatus::capturing:
      return "not permitted during stream capture";
    case GpuStatus::launch_failed:
      return "launch failed";
    case GpuStatus::taken:
      return "held by another process";
    case GpuStatus::no_service:
      return "no service";
  }
  return "";
}
inline const char* gpu_advice(GpuStatus status) {
  if (status == GpuStatus::taken) return "share it";
  return status == GpuStatus::no_service ? "start the service" : "";
}
inline GpuStatus gpu_count_devices(int& count) {
  count = static_cast<int>(host_gpus().pci.size());
  return host_gpus().counting;
}
inline GpuStatus gpu_driver_version(int& version) {
  version = host_gpus().driver;
  return gpu_success;
}
inline GpuStatus gpu_pci_address(int device, std::string& address) {
  address = host_gpus().pci[static_cast<std::size_t>(device)];
  return gpu_success;
}
inline GpuStatus gpu_properties(int, std::string& text) {
  text = host_gpus().properties;
  return gpu_success;
}
inline GpuStatus gpu_set_device(int device) {
  if (device < 0 || device >= static_cast<int>(host_gpus().pci.size())) return GpuStatus::no_device;
  if (host_gpus().is_exclusive) return GpuStatus::taken;
  host_gpu_of_thread() = device;
  return gpu_success;
}
inline GpuStatus gpu_create_stream(GpuStream& stream) {
  stream = new HostStream;
  host_gpus().streams.insert(stream);
  return gpu_success;
}
inline GpuStatus gpu_destroy_stream(GpuStream stream) {
  host_gpus().streams.erase(stream);
  delete stream;
  return gpu_success;
}
inline GpuStatus gpu_create_event(GpuEvent& event) {
  event = new HostEvent;
  return gpu_success;
}
inline GpuStatus gpu_create_timed_event(GpuEvent& event) {
  return gpu_create_event(event);
}
inline GpuStatus gpu_milliseconds_between(float& milliseconds, GpuEvent from, GpuEvent to) {
  milliseconds = to->ms - from->ms;
  return gpu_success;
}
inline GpuStatus gpu_destroy_event(GpuEvent event) {
  delete event;
  return gpu_success;
}
inline GpuStatus gpu_record(GpuEvent event, GpuStream stream) {
  if (host_gpu_captures()) return GpuStatus::capturing;
  *event = {.stream = stream,
            .at = stream == nullptr ? host_gpu_work() : stream->given,
            .ms = host_gpus().clock_ms,
            .deferred = host_gpus().deferred.given};
  return gpu_success;
}
/// Unless it defers, the default stream runs everything at once, including what it waits for.
inline GpuStatus gpu_wait_for(GpuStream stream, GpuEvent event) {
  if (host_gpu_captures()) return GpuStatus::capturing;
  HostGpus& gpus = host_gpus();
  if (event->stream != nullptr) {
    const auto wait = [of = event->stream, at = event->at] { host_gpu_run(*of, at); };
    stream == nullptr ? host_gpu_run_or_defer(wait) : wait();
    return gpu_success;
  }
  if (stream == nullptr) return gpu_success;
  stream->follows = std::max(stream->follows, event->at);
  if (!gpus.defers) return gpu_success;
  host_gpu_put(*stream, [&gpus, at = event->deferred] {
    host_gpu_run(gpus.deferred, at);
    return true;
  });
  return gpu_success;
}
inline GpuStatus gpu_query(GpuEvent event) {
  HostStream* const stream = event->stream;
  if (stream == nullptr) {
    host_gpu_run(host_gpus().deferred, event->deferred);
    return gpu_success;
  }
  while (!stream->work.empty() && stream->work.front()()) {
    stream->work.pop_front();
    ++stream->done;
  }
  return stream->done >= event->at ? gpu_success : gpu_not_ready;
}
inline GpuStatus gpu_synchronise(GpuStream stream) {
  if (host_gpu_captures()) return GpuStatus::capturing;
  HostStream& all = stream != nullptr ? *stream : host_gpus().deferred;
  host_gpu_run(all, all.given);
  return gpu_success;
}
inline GpuStatus gpu_memory(std::size_t& free, std::size_t& total) {
  HostGpus& gpus = host_gpus();
  const std::lock_guard lock(gpus.mutex);
  total = gpus.bytes_each;
  free = total - gpus.in_use[host_gpu_of_thread()];
  return gpu_success;
}
inline GpuStatus gpu_allocate(void** memory, std::size_t bytes) {
  if (host_gpu_captures()) return GpuStatus::capturing;
  HostGpus& gpus = host_gpus();
  const std::lock_guard lock(gpus.mutex);
  const int device = host_gpu_of_thread();
  if (gpus.in_use[device] + bytes > gpus.bytes_each) return GpuStatus::out_of_memory;
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(*memory, 0xFF, bytes);  // NaN: exposes reads of uninitialized memory
  gpus.in_use[device] += bytes;
  gpus.most_in_use = std::max(gpus.most_in_use, gpus.in_use[device]);
  ++gpus.allocations;
  gpus.pieces[static_cast<std::byte*>(*memory)] = {bytes, device};
  return gpu_success;
}
inline GpuStatus gpu_free(void* memory) {
  HostGpus& gpus = host_gpus();
  host_gpu_run(gpus.deferred, gpus.deferred.given);
  const std::lock_guard lock(gpus.mutex);
  const auto found = gpus.pieces.find(static_cast<std::byte*>(memory));
  if (found == gpus.pieces.end()) return memory == nullptr ? gpu_success : GpuStatus::wrong_device;
  gpus.in_use[found->second.device] -= found->second.bytes;
  gpus.pieces.erase(found);
  std::free(memory);
  return gpu_success;
}
/// Runs at once on the default stream, as late as possible on others.
inline void host_gpu_give(GpuStream stream, const std::function<void()>& work) {
  if (host_gpu_keeps(stream, work)) return;
  if (stream == nullptr) {
    ++host_gpu_work();
    return host_gpu_run_or_defer(work);
  }
  host_gpus().follows = stream->follows;
  host_gpu_put(*stream, [work] {
    work();
    return true;
  });
}
inline GpuStatus gpu_copy_later(void* to, const void* from, std::size_t bytes, GpuStream stream) {
  if (!host_gpu_reaches(to) || !host_gpu_reaches(from)) return GpuStatus::wrong_device;
  if (stream != nullptr) host_gpus().beside += bytes;
  const auto copy = [=] {
    if (bytes > 0) std::memcpy(to, from, bytes);
  };
  if (stream != nullptr || !host_gpus().defers) {
    host_gpu_give(stream, copy);
  } else if (host_gpu_of(to) < 0) {
    // Memory of the host that is not pinned: to it a copy blocks, from it the driver keeps a copy.
    host_gpu_give(stream, copy);
    return gpu_synchronise(stream);
  } else {
    const auto* const first = static_cast<const std::byte*>(from);
    host_gpu_give(stream, [=, kept = std::vector<std::byte>(first, first + bytes)] {
      std::memcpy(to, host_gpu_of(from) < 0 ? kept.data() : from, bytes);
    });
  }
  return gpu_success;
}
inline GpuStatus gpu_copy(void* to, const void* from, std::size_t bytes) {
  const GpuStatus copied = gpu_copy_later(to, from, bytes, nullptr);
  return copied == gpu_success && host_gpus().defers ? gpu_synchronise(nullptr) : copied;
}
inline GpuStatus gpu_clear_later(void* memory, std::size_t bytes, GpuStream stream) {
  if (!host_gpu_reaches(memory)) return GpuStatus::wrong_device;
  host_gpu_give(stream, [=] {
    if (bytes > 0) std::memset(memory, 0, bytes);
  });
  return gpu_success;
}
inline GpuStatus gpu_allocate_on_host(void** memory, std::size_t bytes) {
  HostGpus& gpus = host_gpus();
  const std::lock_guard lock(gpus.mutex);
  if (gpus.refuses_pinning) return GpuStatus::out_of_memory;
  *memory = std::malloc(bytes);
  gpus.pinned += bytes;
  gpus.pinned_pieces[*memory] = bytes;
  return gpu_success;
}
inline GpuStatus gpu_free_on_host(void* memory) {
  HostGpus& gpus = host_gpus();
  const std::lock_guard lock(gpus.mutex);
  const auto found = gpus.pinned_pieces.find(memory);
  if (found == gpus.pinned_pieces.end()) return GpuStatus::wrong_device;
  gpus.pinned -= found->second;
  gpus.pinned_pieces.erase(found);
  std::free(memory);
  return gpu_success;
}
inline GpuStatus gpu_clear(void* memory, std::size_t bytes) {
  return gpu_clear_later(memory, bytes, nullptr);
}
inline GpuStatus gpu_begin_capture(GpuStream stream) {
  if (stream == nullptr || host_gpu_captures()) return GpuStatus::capturing;
  host_gpu_recorder() = {.stream = stream,
                         .kept = new HostGraph{.work = {}, .device = host_gpu_of_thread()}};
  return gpu_success;
}
inline GpuStatus gpu_destroy_graph(GpuGraph graph) {
  HostGpus& gpus = host_gpus();
  const std::lock_guard lock(gpus.mutex);
  --gpus.graphs;
  gpus.in_use[graph->device] -= host_graph_bytes;
  delete graph;
  return gpu_success;
}
inline GpuStatus gpu_end_capture(GpuStream, GpuGraph& graph) {
  graph = std::exchange(host_gpu_recorder(), {}).kept;
  HostGpus& gpus = host_gpus();
  const std::lock_guard lock(gpus.mutex);
  std::size_t& in_use = gpus.in_use[graph->device];
  const bool full = in_use + host_graph_bytes > gpus.bytes_each;
  if (!gpus.refuses_capture && !full) {
    in_use += host_graph_bytes;
    ++gpus.graphs;
    return gpu_success;
  }
  delete std::exchange(graph, nullptr);
  return full ? GpuStatus::out_of_memory : GpuStatus::capturing;
}
inline GpuStatus gpu_launch_graph(GpuGraph graph, GpuStream stream) {
  if (host_gpus().refuses_replay) return GpuStatus::capturing;
  ++host_gpus().replays;
  for (const auto& work : graph->work) host_gpu_give(stream, work);
  return gpu_success;
}
inline void gpu_clear_error() {}
inline bool gpu_owns(const void* memory) {
  return host_gpu_of(memory) >= 0;
}

}  // namespace dllaunch
