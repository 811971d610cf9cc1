// What GPU code of both vendors is written against: this one for HIP. The include path picks.
#pragma once

#include <hip/hip_runtime_api.h>
#include <rccl/rccl.h>

#include <cstddef>

namespace dllaunch {

using GpuStatus = hipError_t;
using GpuStream = hipStream_t;
using GpuEvent = hipEvent_t;

constexpr GpuStatus gpu_success = hipSuccess;
constexpr GpuStatus gpu_not_ready = hipErrorNotReady;
constexpr const char* gpu_vendor_api = "HIP";
constexpr const char* gpu_collectives = "RCCL";

inline const char* gpu_words(GpuStatus status) {
  return hipGetErrorString(status);
}
inline GpuStatus gpu_count_devices(int& count) {
  return hipGetDeviceCount(&count);
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
inline GpuStatus gpu_destroy_event(GpuEvent event) {
  return hipEventDestroy(event);
}
/// nullptr: the default stream, which comes after all work on streams that are not non-blocking.
inline GpuStatus gpu_record(GpuEvent event, GpuStream stream) {
  return hipEventRecord(event, stream);
}
inline GpuStatus gpu_wait_for(GpuStream stream, GpuEvent event) {
  return hipStreamWaitEvent(stream, event, 0);
}
inline GpuStatus gpu_query(GpuEvent event) {
  return hipEventQuery(event);
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
inline GpuStatus gpu_clear(void* memory, std::size_t bytes) {
  return hipMemset(memory, 0, bytes);
}
/// Between host and device, in whichever direction the addresses say; done when it returns.
inline GpuStatus gpu_copy(void* to, const void* from, std::size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyDefault);
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
/// Is it memory of a device, rather than of the host?
inline bool gpu_owns(const void* memory) {
  hipPointerAttribute_t about = {};
  if (hipPointerGetAttributes(&about, memory) != hipSuccess) {
    static_cast<void>(hipGetLastError());  // an address it does not know is no failure
    return false;
  }
  return is_on_device(about);
}

}  // namespace dllaunch
