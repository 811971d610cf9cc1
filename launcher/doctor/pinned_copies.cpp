#include "launcher/doctor/pinned_copies.hpp"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "launcher/doctor/numa_memory.hpp"
#include "runtime/rank/binding.hpp"
#include "support/isolated_call.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t copy_bytes = std::size_t{64} << 20;
constexpr int repetitions = 5;

Error unavailable(std::string what) {
  return {ErrorKind::unavailable, std::move(what), ""};
}

/// A vendor's library. It stays open: its threads would not survive a dlclose.
class Library {
 public:
  static std::optional<Library> open(const std::vector<std::string>& names) {
    for (const auto& name : names)
      if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return Library(handle);
    return std::nullopt;
  }

  template <typename Function>
  Function* function(const char* name) {
    void* found = dlsym(handle_, name);
    if (found == nullptr && missing_.empty()) missing_ = name;
    return reinterpret_cast<Function*>(found);
  }
  const std::string& missing() const { return missing_; }

 private:
  explicit Library(void* handle) : handle_(handle) {}
  void* handle_;
  std::string missing_;
};

/// The calls needed from either vendor; each returns 0 on success.
struct GpuCalls {
  std::function<int(int*)> count;
  std::function<int(int, char*, int)> pci_bus_id;  // device, text, its size
  std::function<int(int)> use_device;
  std::function<int(void*, std::size_t)> pin;
  std::function<int(void*)> unpin;
  std::function<int(std::uintptr_t*, std::size_t)> allocate;
  std::function<int(std::uintptr_t)> release;
  std::function<int(std::uintptr_t, const void*, std::size_t)> copy;  // blocking
};

Result<GpuCalls> open_cuda(const GpuDrivers& drivers) {
  auto library = Library::open({drivers.cuda});
  if (!library) return unavailable("no libcuda.so.1");
  auto* init = library->function<int(unsigned)>("cuInit");
  auto* count = library->function<int(int*)>("cuDeviceGetCount");
  auto* device_of = library->function<int(int*, int)>("cuDeviceGet");
  auto* bus_id = library->function<int(char*, int, int)>("cuDeviceGetPCIBusId");
  auto* retain = library->function<int(void**, int)>("cuDevicePrimaryCtxRetain");
  auto* set_current = library->function<int(void*)>("cuCtxSetCurrent");
  auto* pin = library->function<int(void*, std::size_t, unsigned)>("cuMemHostRegister_v2");
  auto* unpin = library->function<int(void*)>("cuMemHostUnregister");
  auto* allocate = library->function<int(std::uintptr_t*, std::size_t)>("cuMemAlloc_v2");
  auto* release = library->function<int(std::uintptr_t)>("cuMemFree_v2");
  auto* copy = library->function<int(std::uintptr_t, const void*, std::size_t)>("cuMemcpyHtoD_v2");
  if (!library->missing().empty())
    return unavailable(fmt::format("libcuda.so.1 lacks {}", library->missing()));
  if (const int error = init(0); error != 0)
    return unavailable(fmt::format("cuInit failed with {}", error));
  return GpuCalls{.count = count,
                  .pci_bus_id =
                      [=](int index, char* text, int size) {
                        int device = 0;
                        const int error = device_of(&device, index);
                        return error != 0 ? error : bus_id(text, size, device);
                      },
                  .use_device =
                      [=](int index) {
                        int device = 0;
                        void* context = nullptr;
                        if (const int error = device_of(&device, index); error != 0) return error;
                        const int error = retain(&context, device);
                        return error != 0 ? error : set_current(context);
                      },
                  .pin = [=](void* memory, std::size_t bytes) { return pin(memory, bytes, 0); },
                  .unpin = unpin,
                  .allocate = allocate,
                  .release = release,
                  .copy = copy};
}

Result<GpuCalls> open_hip(const GpuDrivers& drivers) {
  constexpr int host_to_device = 1;
  auto library = Library::open(drivers.hip);
  if (!library) return unavailable("no libamdhip64.so");
  auto* init = library->function<int(unsigned)>("hipInit");
  auto* count = library->function<int(int*)>("hipGetDeviceCount");
  auto* bus_id = library->function<int(char*, int, int)>("hipDeviceGetPCIBusId");
  auto* use_device = library->function<int(int)>("hipSetDevice");
  auto* pin = library->function<int(void*, std::size_t, unsigned)>("hipHostRegister");
  auto* unpin = library->function<int(void*)>("hipHostUnregister");
  auto* allocate = library->function<int(std::uintptr_t*, std::size_t)>("hipMalloc");
  auto* release = library->function<int(std::uintptr_t)>("hipFree");
  auto* copy = library->function<int(std::uintptr_t, const void*, std::size_t, int)>("hipMemcpy");
  if (!library->missing().empty())
    return unavailable(fmt::format("libamdhip64.so lacks {}", library->missing()));
  if (const int error = init(0); error != 0)
    return unavailable(fmt::format("hipInit failed with {}", error));
  return GpuCalls{
      .count = count,
      .pci_bus_id = [=](int index, char* text, int size) { return bus_id(text, size, index); },
      .use_device = use_device,
      .pin = [=](void* memory, std::size_t bytes) { return pin(memory, bytes, 0); },
      .unpin = unpin,
      .allocate = allocate,
      .release = release,
      .copy = [=](std::uintptr_t to, const void* from,
                  std::size_t bytes) { return copy(to, from, bytes, host_to_device); }};
}

/// Returns GB/s from `memory`, already pinned, to `device`; 0 if a copy fails.
double copy_speed(const GpuCalls& gpu, std::uintptr_t device, const NumaMemory& memory) {
  std::vector<double> seconds;
  for (int i = 0; i <= repetitions; ++i) {
    const auto begin = Clock::now();
    if (gpu.copy(device, memory.data(), memory.bytes()) != 0) return 0;
    const std::chrono::duration<double> took = Clock::now() - begin;
    if (i > 0) seconds.push_back(std::max(1e-9, took.count()));
  }
  std::ranges::sort(seconds);
  return static_cast<double>(memory.bytes()) / seconds[seconds.size() / 2] / 1e9;
}

/// One GPU and one node; 0 if any call fails.
double measure_one(const GpuCalls& gpu, const CopySource& source) {
  if (!apply_binding(source.cpus)) return 0;
  auto memory = NumaMemory::allocate(copy_bytes, source.numa);
  if (!memory || gpu.pin(memory->data(), memory->bytes()) != 0) return 0;
  std::uintptr_t device = 0;
  double speed = 0;
  if (gpu.allocate(&device, memory->bytes()) == 0) {
    speed = copy_speed(gpu, device, *memory);
    gpu.release(device);
  }
  gpu.unpin(memory->data());
  return speed;
}

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// In the child. Returns JSON, since isolated calls return text.
Result<std::string> measure_all(const std::vector<CopySource>& sources, const GpuDrivers& drivers) {
  constexpr std::chrono::seconds enough{8};
  auto gpu = open_cuda(drivers);
  const auto no_cuda = gpu ? std::string() : gpu.error().what;
  if (!gpu) gpu = open_hip(drivers);
  if (!gpu) return unavailable(fmt::format("{}, {}", no_cuda, gpu.error().what));
  int count = 0;
  if (gpu->count(&count) != 0 || count < 1) return unavailable("the driver finds no GPU");

  Json copies = Json::array();
  const auto begin = Clock::now();
  for (int device = 0; device < count; ++device) {
    std::array<char, 32> pci{};
    if (gpu->use_device(device) != 0 ||
        gpu->pci_bus_id(device, pci.data(), static_cast<int>(pci.size()) - 1) != 0)
      continue;
    for (const auto& source : sources) {
      if (Clock::now() - begin > enough) return copies.dump();
      const double speed = measure_one(*gpu, source);
      if (speed > 0)
        copies.push_back({{"pci", lower_case(pci.data())}, {"numa", source.numa}, {"gbs", speed}});
    }
  }
  return copies.dump();
}

}  // namespace

Result<std::vector<PinnedCopy>> measure_pinned_copies(const std::vector<CopySource>& sources,
                                                      const GpuDrivers& drivers) {
  constexpr std::chrono::seconds deadline{20};
  // CUDA and HIP reserve address space for all memory of the host and the GPUs.
  const auto text = isolated_calls({{.work = [&] { return measure_all(sources, drivers); },
                                     .deadline = deadline,
                                     .bounded_memory = false}})
                        .front();
  if (!text) return text.error();
  const auto document = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_array()) return unavailable("the measurement gave no answer");
  std::vector<PinnedCopy> copies;
  for (const auto& item : document)
    copies.push_back({.pci = item.value("pci", ""),
                      .numa = item.value("numa", 0),
                      .gb_per_s = item.value("gbs", 0.0)});
  return copies;
}

}  // namespace dllaunch
