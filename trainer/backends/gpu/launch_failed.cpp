#include <cxxabi.h>
#include <fmt/core.h>

#include <cstdlib>
#include <memory>

#include "trainer/backends/gpu/check.hpp"
#include "trainer/backends/gpu/kernels/launch.hpp"

namespace dllaunch::gpu {

void launch_failed(const std::type_info& functor, GpuStatus status) {
  const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(functor.name(), nullptr, nullptr, nullptr), std::free);
  const char* const name = readable == nullptr ? functor.name() : readable.get();
  library_failed(gpu_vendor_api, fmt::format("kernel {}: {}", name, gpu_words(status)));
}

}  // namespace dllaunch::gpu
