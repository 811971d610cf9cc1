// A stand-in for libcuda.so.1: two GPUs whose memory is the host's, and whose kernel is a loop
// here. It aborts where the order of calls is one that a driver would refuse. DLLAUNCH_FAKE_CUDA
// chooses:
// "", no-driver, hang, no-memory, no-kernel, wrong (the second GPU miscalculates), no-peer.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <unistd.h>

namespace {

constexpr int refused = 999;
constexpr int first_device = 10;

int current_device = 0;  // 0: no context
int pinned = 0;
int allocated = 0;
int modules = 0;

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
  if (behaves("hang"))
    for (;;) pause();
  return flags == 0 && !behaves("no-driver") ? 0 : refused;
}
int cuDeviceGetCount(int* count) {
  *count = 2;
  return 0;
}
int cuDeviceGet(int* device, int index) {
  *device = first_device + index;
  return index < 2 ? 0 : refused;
}
int cuDeviceGetPCIBusId(char* text, int size, int device) {
  std::snprintf(text, static_cast<std::size_t>(size), "0000:C%d:00.0", device - first_device);
  return 0;
}
int cuDeviceGetName(char* text, int size, int) {
  std::snprintf(text, static_cast<std::size_t>(size), "Fake GPU");
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = reinterpret_cast<void*>(static_cast<std::intptr_t>(device));
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  must(pinned == 0 && allocated == 0 && modules == 0);
  current_device = 0;
  return 0;
}
int cuCtxSetCurrent(void* context) {
  current_device = static_cast<int>(reinterpret_cast<std::intptr_t>(context));
  return 0;
}
int cuCtxSynchronize() {
  must(current_device != 0);
  return 0;
}
int cuMemAllocHost_v2(void** memory, std::size_t bytes) {
  must(current_device != 0);
  *memory = std::malloc(bytes);
  ++pinned;
  return 0;
}
int cuMemFreeHost(void* memory) {
  std::free(memory);
  --pinned;
  return 0;
}
int cuMemAlloc_v2(std::uintptr_t* memory, std::size_t bytes) {
  must(current_device != 0);
  if (behaves("no-memory") && current_device == first_device + 1) return refused;
  *memory = reinterpret_cast<std::uintptr_t>(std::malloc(bytes));
  ++allocated;
  return 0;
}
int cuMemFree_v2(std::uintptr_t memory) {
  std::free(reinterpret_cast<void*>(memory));
  --allocated;
  return 0;
}
int cuMemcpyHtoD_v2(std::uintptr_t to, const void* from, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void* to, std::uintptr_t from, std::size_t bytes) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return 0;
}
int cuMemcpyDtoD_v2(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) {
  must(to != from);
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return 0;
}
int cuDeviceCanAccessPeer(int* can, int from, int to) {
  must(from != to);
  *can = behaves("no-peer") ? 0 : 1;
  return 0;
}
int cuCtxEnablePeerAccess(void* peer, unsigned flags) {
  must(flags == 0 && reinterpret_cast<std::intptr_t>(peer) != current_device);
  return 0;
}
int cuMemcpyPeer(std::uintptr_t to, void* to_context, std::uintptr_t from, void* from_context,
                 std::size_t bytes) {
  must(to_context != from_context);
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return 0;
}
int cuModuleLoadData(void** module, const void* text) {
  must(std::strstr(static_cast<const char*>(text), ".entry multiply_and_add(") != nullptr);
  if (behaves("no-kernel")) return refused;
  *module = &modules;
  ++modules;
  return 0;
}
int cuModuleUnload(void* module) {
  must(module == &modules);
  --modules;
  return 0;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  must(module == &modules && std::string_view(name) == "multiply_and_add");
  *function = &modules;
  return 0;
}
int cuLaunchKernel(void*, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned,
                   unsigned shared_bytes, void* stream, void** arguments, void**) {
  must(current_device != 0 && shared_bytes == 0 && stream == nullptr);
  auto* sums = reinterpret_cast<float*>(*static_cast<std::uintptr_t*>(arguments[0]));
  const unsigned rounds = *static_cast<unsigned*>(arguments[1]);
  std::array<float, 4> chains = {0, 1, 2, 3};
  for (auto& chain : chains)
    for (unsigned i = 0; i < rounds * 4; ++i) chain = std::fma(chain, 0x1.ff8p-1F, 0x1p-10F);
  const float sum = (chains[0] + chains[1]) + (chains[2] + chains[3]);
  for (unsigned i = 0; i < blocks * threads; ++i) sums[i] = sum;
  if (behaves("wrong") && current_device == first_device + 1) sums[77] += 1;
  return 0;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
