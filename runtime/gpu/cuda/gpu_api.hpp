// The interface for GPU code of both vendors, on CUDA. The include path selects the vendor.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <string>

#include "runtime/gpu/device_choice.hpp"

namespace dllaunch {

using GpuStatus = cudaError_t;
using GpuStream = cudaStream_t;
using GpuEvent = cudaEvent_t;
using GpuGraph = cudaGraphExec_t;  // kernels and copies to be replayed unchanged

constexpr GpuStatus gpu_success = cudaSuccess;
constexpr GpuStatus gpu_not_ready = cudaErrorNotReady;
constexpr GpuStatus gpu_out_of_memory = cudaErrorMemoryAllocation;
constexpr const char* gpu_vendor_api = "CUDA";
constexpr int gpu_built_with = CUDART_VERSION;  // the toolkit's headers
constexpr VersionUnits gpu_version_units = cuda_units;

inline const char* gpu_words(GpuStatus status) {
  return cudaGetErrorString(status);
}
/// What to do about a GPU that cannot be used, where gpu_words() does not say it; else empty.
inline const char* gpu_advice(GpuStatus status) {
  switch (status) {
    case cudaErrorDevicesUnavailable:
      return "in an exclusive compute mode one process holds it (nvidia-smi -q -d COMPUTE): give "
             "each rank a GPU of its own, start MPS, or set the mode to DEFAULT";
    case cudaErrorMpsConnectionFailed:
    case cudaErrorMpsRpcFailure:
    case cudaErrorMpsServerNotReady:
      return "start nvidia-cuda-mps-control with this CUDA_MPS_PIPE_DIRECTORY, on every node, or "
             "unset that variable";
    case cudaErrorMpsMaxClientsReached:
    case cudaErrorMpsMaxConnectionsReached:
      return "let fewer ranks share the GPU";
    default:
      return "";
  }
}
inline GpuStatus gpu_count_devices(int& count) {
  return cudaGetDeviceCount(&count);
}
/// Versions of the driver and of the loaded runtime library, in the vendor's encoding.
inline GpuStatus gpu_driver_version(int& version) {
  return cudaDriverGetVersion(&version);
}
inline GpuStatus gpu_runtime_version(int& version) {
  return cudaRuntimeGetVersion(&version);
}
inline GpuStatus gpu_pci_address(int device, std::string& address) {
  std::array<char, 32> text{};
  const GpuStatus status =
      cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), device);
  address = text.data();
  return status;
}
/// Name, compute capability, multiprocessors and bytes, those of the slice with MIG:
/// "NVIDIA H100 80GB HBM3,9.0,132,84929347584".
inline GpuStatus gpu_properties(int device, std::string& text) {
  cudaDeviceProp about = {};
  const GpuStatus status = cudaGetDeviceProperties(&about, device);
  text = std::string(&about.name[0]) + "," + std::to_string(about.major) + "." +
         std::to_string(about.minor) + "," + std::to_string(about.multiProcessorCount) + "," +
         std::to_string(about.totalGlobalMem);
  return status;
}
inline GpuStatus gpu_set_device(int device) {
  return cudaSetDevice(device);
}
inline GpuStatus gpu_create_stream(GpuStream& stream) {
  return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
}
inline GpuStatus gpu_destroy_stream(GpuStream stream) {
  return cudaStreamDestroy(stream);
}
inline GpuStatus gpu_create_event(GpuEvent& event) {
  return cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
}
/// Creates an event that records the time at which the device reaches it.
inline GpuStatus gpu_create_timed_event(GpuEvent& event) {
  return cudaEventCreateWithFlags(&event, cudaEventDefault);
}
/// The device must have passed both events.
inline GpuStatus gpu_milliseconds_between(float& milliseconds, GpuEvent from, GpuEvent to) {
  return cudaEventElapsedTime(&milliseconds, from, to);
}
inline GpuStatus gpu_destroy_event(GpuEvent event) {
  return cudaEventDestroy(event);
}
/// nullptr: the default stream, which is ordered after all work on blocking streams.
inline GpuStatus gpu_record(GpuEvent event, GpuStream stream) {
  return cudaEventRecord(event, stream);
}
inline GpuStatus gpu_wait_for(GpuStream stream, GpuEvent event) {
  return cudaStreamWaitEvent(stream, event, 0);
}
inline GpuStatus gpu_query(GpuEvent event) {
  const GpuStatus state = cudaEventQuery(event);
  // It may be stored as the last error, which libraries take for a failure of theirs. Another
  // call's error stays.
  if (state == gpu_not_ready && cudaPeekAtLastError() == gpu_not_ready) {
    static_cast<void>(cudaGetLastError());
  }
  return state;
}
inline GpuStatus gpu_synchronise(GpuStream stream) {
  return cudaStreamSynchronize(stream);
}
inline GpuStatus gpu_allocate(void** memory, std::size_t bytes) {
  return cudaMalloc(memory, bytes);
}
inline GpuStatus gpu_free(void* memory) {
  return cudaFree(memory);
}
/// Allocates pinned host memory, which is copied to the device directly.
inline GpuStatus gpu_allocate_on_host(void** memory, std::size_t bytes) {
  return cudaMallocHost(memory, bytes);
}
inline GpuStatus gpu_free_on_host(void* memory) {
  return cudaFreeHost(memory);
}
inline GpuStatus gpu_clear(void* memory, std::size_t bytes) {
  return cudaMemset(memory, 0, bytes);
}
/// Copies between host and device, in the direction that the addresses imply; blocking.
inline GpuStatus gpu_copy(void* to, const void* from, std::size_t bytes) {
  return cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
}
/// The same, in stream order. Host memory that is not pinned makes it block.
inline GpuStatus gpu_copy_later(void* to, const void* from, std::size_t bytes, GpuStream stream) {
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
}
inline GpuStatus gpu_clear_later(void* memory, std::size_t bytes, GpuStream stream) {
  return cudaMemsetAsync(memory, 0, bytes, stream);
}
/// Captures the calling thread's work on `stream` (not the default one) without running it, until
/// gpu_end_capture(). Nothing may wait or allocate meanwhile.
inline GpuStatus gpu_begin_capture(GpuStream stream) {
  return cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
}
/// Returns the captured work, to be released with gpu_destroy_graph(); nullptr after a failure.
inline GpuStatus gpu_end_capture(GpuStream stream, GpuGraph& graph) {
  cudaGraph_t captured = nullptr;
  graph = nullptr;
  const GpuStatus ended = cudaStreamEndCapture(stream, &captured);
  if (ended != gpu_success) return ended;
  const GpuStatus made = cudaGraphInstantiate(&graph, captured, 0);
  if (made != gpu_success) graph = nullptr;
  const GpuStatus gone = cudaGraphDestroy(captured);
  return made != gpu_success ? made : gone;
}
/// Replays the captured work in stream order; asynchronous.
inline GpuStatus gpu_launch_graph(GpuGraph graph, GpuStream stream) {
  return cudaGraphLaunch(graph, stream);
}
inline GpuStatus gpu_destroy_graph(GpuGraph graph) {
  return cudaGraphExecDestroy(graph);
}
/// In bytes, of the current device.
inline GpuStatus gpu_memory(std::size_t& free, std::size_t& total) {
  return cudaMemGetInfo(&free, &total);
}
/// Enqueues a kernel; arguments[i] is the address of its i-th argument. Returns the status of this
/// launch, whatever was the last error before. What fails while the kernel runs, later calls
/// return.
inline GpuStatus gpu_launch(const void* kernel, unsigned blocks, unsigned threads, void** arguments,
                            GpuStream stream) {
  return cudaLaunchKernel(kernel, dim3(blocks), dim3(threads), arguments, 0, stream);
}
/// Clears the last error, which libraries take for a failure of theirs. Call it after a failure
/// that was handled; every call returns its own status.
inline void gpu_clear_error() {
  static_cast<void>(cudaGetLastError());
}
/// Whether the memory is on a device rather than the host.
inline bool gpu_owns(const void* memory) {
  cudaPointerAttributes about = {};
  if (cudaPointerGetAttributes(&about, memory) != cudaSuccess) {
    cudaGetLastError();  // an unknown address is not a failure
    return false;
  }
  return about.type == cudaMemoryTypeDevice;
}

}  // namespace dllaunch
