// What GPU code of both vendors is written against: this one for CUDA. The include path picks.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstddef>

namespace dllaunch {

using GpuStatus = cudaError_t;
using GpuStream = cudaStream_t;
using GpuEvent = cudaEvent_t;

constexpr GpuStatus gpu_success = cudaSuccess;
constexpr GpuStatus gpu_not_ready = cudaErrorNotReady;
constexpr const char* gpu_vendor_api = "CUDA";
constexpr const char* gpu_collectives = "NCCL";

inline const char* gpu_words(GpuStatus status) {
  return cudaGetErrorString(status);
}
inline GpuStatus gpu_count_devices(int& count) {
  return cudaGetDeviceCount(&count);
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
inline GpuStatus gpu_destroy_event(GpuEvent event) {
  return cudaEventDestroy(event);
}
/// nullptr: the default stream, which comes after all work on streams that are not non-blocking.
inline GpuStatus gpu_record(GpuEvent event, GpuStream stream) {
  return cudaEventRecord(event, stream);
}
inline GpuStatus gpu_wait_for(GpuStream stream, GpuEvent event) {
  return cudaStreamWaitEvent(stream, event, 0);
}
inline GpuStatus gpu_query(GpuEvent event) {
  return cudaEventQuery(event);
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
inline GpuStatus gpu_clear(void* memory, std::size_t bytes) {
  return cudaMemset(memory, 0, bytes);
}
/// Between host and device, in whichever direction the addresses say; done when it returns.
inline GpuStatus gpu_copy(void* to, const void* from, std::size_t bytes) {
  return cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
}
/// Is it memory of a device, rather than of the host?
inline bool gpu_owns(const void* memory) {
  cudaPointerAttributes about = {};
  if (cudaPointerGetAttributes(&about, memory) != cudaSuccess) {
    cudaGetLastError();  // an address it does not know is no failure
    return false;
  }
  return about.type == cudaMemoryTypeDevice;
}

}  // namespace dllaunch
