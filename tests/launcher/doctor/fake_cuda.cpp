// A stand-in for libcuda.so.1: two GPUs whose memory is the host's. It aborts where the order of
// calls is one that a driver would refuse. DLLAUNCH_FAKE_CUDA chooses: "", crash, no-driver,
// no-gpu, no-pinning.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

constexpr int refused = 999;
constexpr int first_device = 10;

void* current_context = nullptr;
void* pinned = nullptr;
std::size_t pinned_bytes = 0;
int allocations = 0;

bool behaves(std::string_view how) {
  const char* asked = std::getenv("DLLAUNCH_FAKE_CUDA");
  return asked != nullptr && how == asked;
}

void must(bool promise) {
  if (!promise) std::abort();
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's own names
extern "C" {

int cuInit(unsigned flags) {
  must(!behaves("crash"));
  return flags == 0 && !behaves("no-driver") ? 0 : refused;
}
int cuDeviceGetCount(int* count) {
  *count = behaves("no-gpu") ? 0 : 2;
  return 0;
}
int cuDeviceGet(int* device, int index) {
  *device = first_device + index;
  return 0;
}
int cuDeviceGetPCIBusId(char* text, int size, int device) {
  std::snprintf(text, static_cast<std::size_t>(size), "0000:C%d:00.0", device - first_device);
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = reinterpret_cast<void*>(static_cast<std::intptr_t>(device));
  return 0;
}
int cuCtxSetCurrent(void* context) {
  current_context = context;
  return 0;
}
int cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned flags) {
  must(current_context != nullptr && pinned == nullptr && flags == 0);
  if (behaves("no-pinning")) return refused;
  pinned = memory;
  pinned_bytes = bytes;
  return 0;
}
int cuMemHostUnregister(void* memory) {
  must(memory == pinned && allocations == 0);
  pinned = nullptr;
  return 0;
}
int cuMemAlloc_v2(std::uintptr_t* memory, std::size_t bytes) {
  *memory = reinterpret_cast<std::uintptr_t>(std::malloc(bytes));
  ++allocations;
  return 0;
}
int cuMemFree_v2(std::uintptr_t memory) {
  std::free(reinterpret_cast<void*>(memory));
  --allocations;
  return 0;
}
int cuMemcpyHtoD_v2(std::uintptr_t to, const void* from, std::size_t bytes) {
  must(from == pinned && bytes == pinned_bytes && allocations == 1);
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
