// The interface for GPU code of both vendors, on HIP. The include path selects the vendor.
#pragma once

#include <hip/hip_runtime_api.h>

#include <array>
#include <cstddef>
#include <string>

#include "runtime/gpu/device_choice.hpp"

namespace dllaunch {

using GpuStatus = hipError_t;
using GpuStream = hipStream_t;
using GpuEvent = hipEvent_t;
using GpuGraph = hipGraphExec_t;  // kernels and copies to be replayed unchanged

constexpr GpuStatus gpu_success = hipSuccess;
constexpr GpuStatus gpu_not_ready = hipErrorNotReady;
constexpr GpuStatus gpu_out_of_memory = hipErrorOutOfMemory;
constexpr const char* gpu_vendor_api = "HIP";
constexpr int gpu_built_with = HIP_VERSION;  // the headers
constexpr VersionUnits gpu_version_units = hip_units;

inline const char* gpu_words(GpuStatus status) {
  return hipGetErrorString(status);
}
/// What to do about a GPU that cannot be used. Empty: AMD's have no exclusive mode and no MPS.
inline const char* gpu_advice(GpuStatus) {
  return "";
}
inline GpuStatus gpu_count_devices(int& count) {
  return hipGetDeviceCount(&count);
}
/// Versions of the driver and of the loaded runtime library, in the vendor's encoding.
inline GpuStatus gpu_driver_version(int& version) {
  return hipDriverGetVersion(&version);
}
inline GpuStatus gpu_runtime_version(int& version) {
  return hipRuntimeGetVersion(&version);
}
inline GpuStatus gpu_pci_address(int device, std::string& address) {
  std::array<char, 32> text{};
  const GpuStatus status = hipDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), device);
  address = text.data();
  return status;
}
/// Name, architecture, compute units and bytes.
inline GpuStatus gpu_properties(int device, std::string& text) {
  hipDeviceProp_t about = {};
  const GpuStatus status = hipGetDeviceProperties(&about, device);
  // The name alone may be the same for all GPUs ("AMD Radeon Graphics").
  text = std::string(&about.name[0]) + "," + &about.gcnArchName[0] + "," +
         std::to_string(about.multiProcessorCount) + "," + std::to_string(about.totalGlobalMem);
  return status;
}
inline GpuStatus gpu_set_device(int device) {
  return hipSetDevice(device);
}
inline GpuStatus gpu_create_stream(GpuStream& stream) {
  return hipStreamCreateWithFlags(&stream, hipStreamNonBlocking);
}
inline GpuStatus gpu_destroy_stream(GpuStream stream) {
  return hipStreamDestroy(stream);
}
inline GpuStatus gpu_create_event(GpuEvent& event) {
  return hipEventCreateWithFlags(&event, hipEventDisableTiming);
}
/// Creates an event that records the time at which the device reaches it.
inline GpuStatus gpu_create_timed_event(GpuEvent& event) {
  return hipEventCreateWithFlags(&event, hipEventDefault);
}
/// The device must have passed both events.
inline GpuStatus gpu_milliseconds_between(float& milliseconds, GpuEvent from, GpuEvent to) {
  return hipEventElapsedTime(&milliseconds, from, to);
}
inline GpuStatus gpu_destroy_event(GpuEvent event) {
  return hipEventDestroy(event);
}
/// nullptr: the default stream, which is ordered after all work on blocking streams.
inline GpuStatus gpu_record(GpuEvent event, GpuStream stream) {
  return hipEventRecord(event, stream);
}
inline GpuStatus gpu_wait_for(GpuStream stream, GpuEvent event) {
  return hipStreamWaitEvent(stream, event, 0);
}
inline GpuStatus gpu_query(GpuEvent event) {
  const GpuStatus state = hipEventQuery(event);
  // It may be stored as the last error, which libraries take for a failure of theirs. Another
  // call's error stays.
  if (state == gpu_not_ready && hipPeekAtLastError() == gpu_not_ready) {
    static_cast<void>(hipGetLastError());
  }
  return state;
}
inline GpuStatus gpu_synchronise(GpuStream stream) {
  return hipStreamSynchronize(stream);
}
inline GpuStatus gpu_allocate(void** memory, std::size_t bytes) {
  return hipMalloc(memory, bytes);
}
inline GpuStatus gpu_free(void* memory) {
  return hipFree(memory);
}
/// Allocates pinned host memory, which is copied to the device directly.
inline GpuStatus gpu_allocate_on_host(void** memory, std::size_t bytes) {
  return hipHostMalloc(memory, bytes, hipHostMallocDefault);
}
inline GpuStatus gpu_free_on_host(void* memory) {
  return hipHostFree(memory);
}
inline GpuStatus gpu_clear(void* memory, std::size_t bytes) {
  return hipMemset(memory, 0, bytes);
}
/// Copies between host and device, in the direction that the addresses imply; blocking.
inline GpuStatus gpu_copy(void* to, const void* from, std::size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyDefault);
}
/// The same, in stream order. Host memory that is not pinned makes it block.
inline GpuStatus gpu_copy_later(void* to, const void* from, std::size_t bytes, GpuStream stream) {
  return hipMemcpyAsync(to, from, bytes, hipMemcpyDefault, stream);
}
inline GpuStatus gpu_clear_later(void* memory, std::size_t bytes, GpuStream stream) {
  return hipMemsetAsync(memory, 0, bytes, stream);
}
/// Captures the calling thread's work on `stream` (not the default one) without running it, until
/// gpu_end_capture(). Nothing may wait or allocate meanwhile.
inline GpuStatus gpu_begin_capture(GpuStream stream) {
  return hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal);
}
/// Returns the captured work, to be released with gpu_destroy_graph(); nullptr after a failure.
inline GpuStatus gpu_end_capture(GpuStream stream, GpuGraph& graph) {
  hipGraph_t captured = nullptr;
  graph = nullptr;
  const GpuStatus ended = hipStreamEndCapture(stream, &captured);
  if (ended != gpu_success) return ended;
  const GpuStatus made = hipGraphInstantiate(&graph, captured, nullptr, nullptr, 0);
  if (made != gpu_success) graph = nullptr;
  const GpuStatus gone = hipGraphDestroy(captured);
  return made != gpu_success ? made : gone;
}
/// Replays the captured work in stream order; asynchronous.
inline GpuStatus gpu_launch_graph(GpuGraph graph, GpuStream stream) {
  return hipGraphLaunch(graph, stream);
}
inline GpuStatus gpu_destroy_graph(GpuGraph graph) {
  return hipGraphExecDestroy(graph);
}
/// In bytes, of the current device.
inline GpuStatus gpu_memory(std::size_t& free, std::size_t& total) {
  return hipMemGetInfo(&free, &total);
}
/// Enqueues a kernel; arguments[i] is the address of its i-th argument. Returns the status of this
/// launch, whatever was the last error before. What fails while the kernel runs, later calls
/// return.
inline GpuStatus gpu_launch(const void* kernel, unsigned blocks, unsigned threads, void** arguments,
                            GpuStream stream) {
  return hipLaunchKernel(kernel, dim3(blocks), dim3(threads), arguments, 0, stream);
}
/// Clears the last error, which libraries take for a failure of theirs. Call it after a failure
/// that was handled; every call returns its own status.
inline void gpu_clear_error() {
  static_cast<void>(hipGetLastError());
}
/// HIP 5.5 renamed the field, HIP 6 dropped the old name.
template <typename Attributes>
bool is_on_device(const Attributes& about) {
  if constexpr (requires { about.type; }) {
    return about.type == hipMemoryTypeDevice;
  } else {
    return about.memoryType == hipMemoryTypeDevice;
  }
}
/// Whether the memory is on a device rather than the host.
inline bool gpu_owns(const void* memory) {
  hipPointerAttribute_t about = {};
  if (hipPointerGetAttributes(&about, memory) != hipSuccess) {
    static_cast<void>(hipGetLastError());  // an unknown address is not a failure
    return false;
  }
  return is_on_device(about);
}

}  // namespace dllaunch
