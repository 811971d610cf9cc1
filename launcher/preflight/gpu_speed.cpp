#include "launcher/preflight/gpu_speed.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "support/awake_clock.hpp"
#include "support/shared_library.hpp"

namespace dllaunch {
namespace {

using Clock = AwakeClock;
using Address = std::uintptr_t;  // in a GPU's memory

constexpr std::size_t parcel_bytes = std::size_t{64} << 20;
constexpr int repetitions = 4;
constexpr std::chrono::seconds enough(4);

// The kernel: each thread runs four chains of multiply-adds, from 0, 1, 2 and 3 towards one. The
// driver assembles it for the GPU at hand.
constexpr int threads_per_block = 256;
constexpr int blocks = 2048;
constexpr unsigned rounds = 512;
constexpr int adds_per_round = 16;
constexpr const char* kernel_name = "multiply_and_add";
constexpr const char* kernel_text = R"ptx(
.version 6.0
.target sm_60
.address_size 64
.visible .entry multiply_and_add(.param .u64 sums, .param .u32 rounds)
{
  .reg .pred %again;
  .reg .f32 %a, %b, %c, %d, %factor, %step;
  .reg .b32 %left, %block, %size, %thread, %index;
  .reg .b64 %sums, %offset;
  ld.param.u64 %sums, [sums];
  ld.param.u32 %left, [rounds];
  mov.f32 %a, 0f00000000;
  mov.f32 %b, 0f3F800000;
  mov.f32 %c, 0f40000000;
  mov.f32 %d, 0f40400000;
  mov.f32 %factor, 0f3F7FC000;
  mov.f32 %step, 0f3A800000;
repeat:
  fma.rn.f32 %a, %a, %factor, %step;
  fma.rn.f32 %b, %b, %factor, %step;
  fma.rn.f32 %c, %c, %factor, %step;
  fma.rn.f32 %d, %d, %factor, %step;
  fma.rn.f32 %a, %a, %factor, %step;
  fma.rn.f32 %b, %b, %factor, %step;
  fma.rn.f32 %c, %c, %factor, %step;
  fma.rn.f32 %d, %d, %factor, %step;
  fma.rn.f32 %a, %a, %factor, %step;
  fma.rn.f32 %b, %b, %factor, %step;
  fma.rn.f32 %c, %c, %factor, %step;
  fma.rn.f32 %d, %d, %factor, %step;
  fma.rn.f32 %a, %a, %factor, %step;
  fma.rn.f32 %b, %b, %factor, %step;
  fma.rn.f32 %c, %c, %factor, %step;
  fma.rn.f32 %d, %d, %factor, %step;
  sub.u32 %left, %left, 1;
  setp.ne.u32 %again, %left, 0;
  @%again bra repeat;
  add.rn.f32 %a, %a, %b;
  add.rn.f32 %c, %c, %d;
  add.rn.f32 %a, %a, %c;
  mov.u32 %block, %ctaid.x;
  mov.u32 %size, %ntid.x;
  mov.u32 %thread, %tid.x;
  mad.lo.u32 %index, %block, %size, %thread;
  mul.wide.u32 %offset, %index, 4;
  cvta.to.global.u64 %sums, %sums;
  add.u64 %sums, %sums, %offset;
  st.global.f32 [%sums], %a;
  ret;
}
)ptx";

/// The expected sum of each thread. Fused multiply-adds round identically everywhere.
float right_sum() {
  constexpr float factor = 0x1.ff8p-1F;  // 0f3F7FC000
  constexpr float step = 0x1p-10F;       // 0f3A800000
  std::array<float, 4> chains = {0, 1, 2, 3};
  for (auto& chain : chains)
    for (unsigned i = 0; i < rounds * adds_per_round / 4; ++i)
      chain = std::fma(chain, factor, step);
  return (chains[0] + chains[1]) + (chains[2] + chains[3]);
}

/// Functions of the CUDA driver. Every call returns 0 on success.
struct Cuda {
  int (*init)(unsigned) = nullptr;
  int (*count)(int*) = nullptr;
  int (*device)(int*, int) = nullptr;
  int (*bus_id)(char*, int, int) = nullptr;
  int (*name)(char*, int, int) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*release)(int) = nullptr;
  int (*use)(void*) = nullptr;
  int (*wait)() = nullptr;
  int (*pinned)(void**, std::size_t) = nullptr;
  int (*unpinned)(void*) = nullptr;
  int (*allocate)(Address*, std::size_t) = nullptr;
  int (*free)(Address) = nullptr;
  int (*to_gpu)(Address, const void*, std::size_t) = nullptr;
  int (*from_gpu)(void*, Address, std::size_t) = nullptr;
  int (*within)(Address, Address, std::size_t) = nullptr;
  int (*can_reach)(int*, int, int) = nullptr;
  int (*let_reach)(void*, unsigned) = nullptr;
  int (*to_peer)(Address, void*, Address, void*, std::size_t) = nullptr;
  int (*load)(void**, const void*) = nullptr;
  int (*unload)(void*) = nullptr;
  int (*function)(void**, void*, const char*) = nullptr;
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                void**, void**) = nullptr;
};

std::string find_functions(const SharedLibrary& library, Cuda& cuda) {
  std::string missing;
  const auto find = [&](const char* name, auto*& function) {
    if (!library.find(name, function) && missing.empty()) missing = name;
  };
  find("cuInit", cuda.init);
  find("cuDeviceGetCount", cuda.count);
  find("cuDeviceGet", cuda.device);
  find("cuDeviceGetPCIBusId", cuda.bus_id);
  find("cuDeviceGetName", cuda.name);
  find("cuDevicePrimaryCtxRetain", cuda.retain);
  find("cuDevicePrimaryCtxRelease_v2", cuda.release);
  find("cuCtxSetCurrent", cuda.use);
  find("cuCtxSynchronize", cuda.wait);
  find("cuMemAllocHost_v2", cuda.pinned);
  find("cuMemFreeHost", cuda.unpinned);
  find("cuMemAlloc_v2", cuda.allocate);
  find("cuMemFree_v2", cuda.free);
  find("cuMemcpyHtoD_v2", cuda.to_gpu);
  find("cuMemcpyDtoH_v2", cuda.from_gpu);
  find("cuMemcpyDtoD_v2", cuda.within);
  find("cuDeviceCanAccessPeer", cuda.can_reach);
  find("cuCtxEnablePeerAccess", cuda.let_reach);
  find("cuMemcpyPeer", cuda.to_peer);
  find("cuModuleLoadData", cuda.load);
  find("cuModuleUnload", cuda.unload);
  find("cuModuleGetFunction", cuda.function);
  find("cuLaunchKernel", cuda.launch);
  return missing;
}

/// Calls `free` in its destructor if there is something to free.
template <typename Handle, typename Free>
class Kept {
 public:
  explicit Kept(Free free) : free_(free) {}
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() {
    if (handle != Handle{}) free_(handle);
  }
  Handle handle = {};

 private:
  Free free_;
};
using DeviceMemory = Kept<Address, int (*)(Address)>;
using Pointer = Kept<void*, int (*)(void*)>;

/// Returns the shortest time of several repetitions after a warm-up; nullopt if a call fails.
std::optional<double> least_seconds(const Cuda& cuda, const std::function<int()>& work) {
  double least = 0;
  for (int i = 0; i <= repetitions; ++i) {
    const auto begin = Clock::now();
    if (work() != 0 || cuda.wait() != 0) return std::nullopt;
    const std::chrono::duration<double> took = Clock::now() - begin;
    const double seconds = std::max(1e-9, took.count());
    if (i == 1 || (i > 1 && seconds < least)) least = seconds;
  }
  return least;
}

/// Stores GB/s under `key`; returns false on failure.
bool put_speed(const Cuda& cuda, Json& gpu, const char* key, double bytes,
               const std::function<int()>& work) {
  const auto seconds = least_seconds(cuda, work);
  if (!seconds) return false;
  gpu[key] = bytes / *seconds / 1e9;
  return true;
}

/// Returns "" or the step that failed.
std::string put_arithmetic(const Cuda& cuda, Json& gpu, Address sums) {
  Pointer module(cuda.unload);
  void* kernel = nullptr;
  if (cuda.load(&module.handle, kernel_text) != 0) return "the driver rejects the kernel";
  if (cuda.function(&kernel, module.handle, kernel_name) != 0) return "the kernel is not found";
  unsigned count = rounds;
  std::array<void*, 2> arguments = {&sums, &count};
  const auto seconds = least_seconds(cuda, [&] {
    return cuda.launch(kernel, blocks, 1, 1, threads_per_block, 1, 1, 0, nullptr, arguments.data(),
                       nullptr);
  });
  if (!seconds) return "the kernel does not run";
  constexpr double threads = static_cast<double>(threads_per_block) * blocks;
  gpu["tflops"] = 2.0 * adds_per_round * rounds * threads / *seconds / 1e12;
  std::vector<float> all(static_cast<std::size_t>(threads_per_block) * blocks);
  if (cuda.from_gpu(all.data(), sums, all.size() * sizeof(float)) != 0)
    return "the kernel's sums cannot be read";
  const float right = right_sum();
  gpu["wrong"] = std::ranges::count_if(all, [&](float sum) { return sum != right; });
  return "";
}

struct Device {
  int number = 0;
  void* context = nullptr;
};

void put_peer(const Cuda& cuda, Json& gpu, const Device& own, const Device& peer, Address from) {
  int direct = 0;
  if (cuda.can_reach(&direct, own.number, peer.number) != 0 || direct == 0) return;
  void* context = nullptr;
  if (cuda.retain(&context, peer.number) != 0 || cuda.use(context) != 0) return;
  DeviceMemory there(cuda.free);
  const bool taken = cuda.allocate(&there.handle, parcel_bytes) == 0;
  if (cuda.use(own.context) != 0 || !taken || cuda.let_reach(context, 0) != 0) return;
  put_speed(cuda, gpu, "peer", parcel_bytes,
            [&] { return cuda.to_peer(there.handle, context, from, own.context, parcel_bytes); });
}

/// Returns "" or the step that failed.
std::string measure_one(const Cuda& cuda, Json& gpu, const Device& own,
                        const std::optional<int>& peer) {
  Pointer host(cuda.unpinned);
  DeviceMemory one(cuda.free);
  DeviceMemory two(cuda.free);
  if (cuda.pinned(&host.handle, parcel_bytes) != 0) return "no page-locked memory";
  if (cuda.allocate(&one.handle, parcel_bytes) != 0 ||
      cuda.allocate(&two.handle, parcel_bytes) != 0)
    return "128 MiB of its memory cannot be allocated";
  if (!put_speed(cuda, gpu, "to_gpu", parcel_bytes,
                 [&] { return cuda.to_gpu(one.handle, host.handle, parcel_bytes); }))
    return "a copy to it fails";
  if (!put_speed(cuda, gpu, "from_gpu", parcel_bytes,
                 [&] { return cuda.from_gpu(host.handle, one.handle, parcel_bytes); }))
    return "a copy from it fails";
  if (!put_speed(cuda, gpu, "memory", 2.0 * parcel_bytes,
                 [&] { return cuda.within(two.handle, one.handle, parcel_bytes); }))
    return "a copy within its memory fails";
  auto trouble = put_arithmetic(cuda, gpu, two.handle);
  if (trouble.empty() && peer) put_peer(cuda, gpu, own, {.number = *peer}, one.handle);
  return trouble;
}

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

Json look_at(const Cuda& cuda, int index, int count) {
  Json gpu{{"pci", ""}, {"name", ""}, {"why", ""}};
  Device own;
  std::array<char, 128> text{};
  constexpr int room = 127;
  if (cuda.device(&own.number, index) != 0) {
    gpu["why"] = fmt::format("the driver has no GPU {}", index);
    return gpu;
  }
  if (cuda.bus_id(text.data(), room, own.number) == 0) gpu["pci"] = lower_case(text.data());
  if (cuda.name(text.data(), room, own.number) == 0) gpu["name"] = text.data();
  if (cuda.retain(&own.context, own.number) != 0 || cuda.use(own.context) != 0) {
    gpu["why"] = "no context can be made on it";
    return gpu;
  }
  std::optional<int> peer;
  int number = 0;
  if (count > 1 && cuda.device(&number, (index + 1) % count) == 0) peer = number;
  gpu["why"] = measure_one(cuda, gpu, own, peer);
  cuda.release(own.number);
  return gpu;
}

}  // namespace

Json measure_gpu_speeds(const std::string& cuda_library) {
  Json answer{{"found", false}, {"why", ""}, {"gpus", Json::array()}};
  const SharedLibrary library(cuda_library);
  answer["found"] = library.opened();
  if (!library.opened()) {
    answer["why"] = "no " + cuda_library;
    return answer;
  }
  Cuda cuda;
  if (const auto missing = find_functions(library, cuda); !missing.empty()) {
    answer["why"] = fmt::format("{} lacks {}", cuda_library, missing);
    return answer;
  }
  if (const int error = cuda.init(0); error != 0) {
    answer["why"] = fmt::format("cuInit failed with {}", error);
    return answer;
  }
  int count = 0;
  if (cuda.count(&count) != 0) answer["why"] = "the driver does not count its GPUs";
  const auto begin = Clock::now();
  for (int index = 0; index < count && Clock::now() - begin < enough; ++index)
    answer["gpus"].push_back(look_at(cuda, index, count));
  return answer;
}

}  // namespace dllaunch
