#include "trainer/backends/gpu/layers/convolution_autotune.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

#include "runtime/rank/measured.hpp"
#include "trainer/backends/gpu/check.hpp"
#include "trainer/backends/gpu/layers/convolution_extents.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"

namespace dllaunch::gpu {
namespace {

constexpr const char* measured_name = "convolutions";
constexpr double give_up_ratio = 3;  // to the best time so far: no more rounds

/// Returns the seconds of one call: the best of three after a warm-up, which may compile kernels.
/// Infinity if a call fails.
double seconds_of(const std::function<bool()>& call, double least) {
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 4; ++round) {
    const auto start = std::chrono::steady_clock::now();
    if (!call()) {
      static_cast<void>(gpu_last_error());  // clears it for the next call
      return std::numeric_limits<double>::infinity();
    }
    check(gpu_synchronise(nullptr), "trial of a convolution");
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (round == 0) continue;
    best = std::min(best, took.count());
    if (best > give_up_ratio * least) break;
  }
  return best;
}

}  // namespace

std::optional<std::int64_t> cached_algorithm(const AutotuneCache& cache, const std::string& key) {
  const auto file = measured_file(cache.lookup, measured_name);
  if (!file) return std::nullopt;
  const auto known = recall(*file, key);
  if (!known || known->size() != 1) return std::nullopt;
  return known->front();
}

void cache_algorithm(const AutotuneCache& cache, const std::string& key, std::int64_t index) {
  const auto file = measured_file(cache.lookup, measured_name);
  if (file) static_cast<void>(keep(*file, key, std::array{index}));
}

std::optional<Fastest> fastest_algorithm(const ConvolutionShape& shape,
                                         std::span<const std::size_t> workspaces,
                                         const TryAlgorithm& try_algorithm) {
  if (workspaces.size() == 1) return Fastest{.index = 0, .cacheable = true};
  const std::size_t each = bytes_of(shape.type);
  const auto bytes = [each](const Volume& v) {
    return static_cast<std::size_t>(v.elements()) * each;
  };
  DeviceMemory memory;
  const std::array<int, 4> pieces = {
      memory.add(bytes(shape.x)), memory.add(bytes(weights_of(shape))), memory.add(bytes(shape.y)),
      memory.add(*std::ranges::max_element(workspaces))};
  memory.place();
  if (memory.allocate() != gpu_success) return Fastest{};
  std::array<void*, 4> at{};
  for (std::size_t i = 0; i < at.size(); ++i) {
    at[i] = memory.at<void*>(pieces[i]);
    const std::size_t size = memory.bytes(pieces[i]);
    if (size > 0) check(gpu_clear_later(at[i], size, nullptr), "clear");
  }
  std::optional<Fastest> best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < workspaces.size(); ++i) {
    const double seconds = seconds_of(
        [&] {
          return try_algorithm(i, {at[0], at[1], at[2], at[3]});
        },
        least);
    if (seconds < least) best = Fastest{.index = i, .cacheable = true};
    least = std::min(least, seconds);
  }
  return best;
}

}  // namespace dllaunch::gpu
