#include "bench/gpu/ceilings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

#include "trainer/backends/gpu/check.hpp"
#include "trainer/backends/gpu/kernels/elementwise_functors.hpp"
#include "trainer/backends/gpu/kernels/launch.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"

namespace dllaunch::gpu {
namespace {

/// Returns the seconds of one run in the fastest round, after a warm-up round.
template <typename Run>
double seconds_of(const CeilingSizes& sizes, const Run& run) {
  using Clock = std::chrono::steady_clock;
  double fastest = 0;
  for (int round = -1; round < sizes.rounds; ++round) {
    check(gpu_synchronise(nullptr), "round");
    const auto begin = Clock::now();
    for (int i = 0; i < sizes.runs; ++i) run();
    check(gpu_synchronise(nullptr), "round");
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count() / sizes.runs;
    if (round == 0 || (round > 0 && seconds < fastest)) fastest = seconds;
  }
  return fastest;
}

template <typename T>
std::vector<T> noise(std::size_t count) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<T> values(count);
  for (T& value : values) set(value, normal(random));
  return values;
}

/// Zeros would distort the result: multiplying them takes less power.
template <typename T>
void fill(void* memory, std::size_t bytes) {
  static const std::vector<T> values = noise<T>(std::size_t{1} << 18);
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t some = std::min(bytes - done, values.size() * sizeof(T));
    check(gpu_copy(static_cast<std::byte*>(memory) + done, values.data(), some), "copy");
    done += some;
  }
}

void fill(DType type, void* memory, std::size_t bytes) {
  if (type == DType::bf16) return fill<BFloat16>(memory, bytes);
  if (type == DType::f16) return fill<Float16>(memory, bytes);
  fill<float>(memory, bytes);
}

Error too_little(std::size_t bytes) {
  return {ErrorKind::unavailable,
          fmt::format("{} MiB of the GPU to measure it with are not there", bytes >> 20), ""};
}

Result<double> operations_per_s(const MakeMatmul& make, const Numerics& numerics,
                                const CeilingSizes& sizes) {
  const std::int64_t side = sizes.side;
  auto matmul = make({.rows = side,
                      .columns = side,
                      .depth = side,
                      .in = numerics.type,
                      .out = numerics.type,
                      .tf32 = numerics.tf32});
  if (!matmul) return std::move(matmul).error();
  DeviceMemory memory;
  const std::size_t bytes = static_cast<std::size_t>(side * side) * bytes_of(numerics.type);
  const int a = memory.add(bytes);
  const int b = memory.add(bytes);
  const int c = memory.add(bytes);
  const int workspace = memory.add((*matmul)->workspace());
  const std::size_t all = memory.place();
  if (memory.allocate() != gpu_success) return too_little(all);
  fill(numerics.type, memory.at<void*>(a), bytes);
  fill(numerics.type, memory.at<void*>(b), bytes);
  const double seconds = seconds_of(sizes, [&] {
    (*matmul)->run(nullptr, memory.at<void*>(a), memory.at<void*>(b), memory.at<void*>(c), false,
                   memory.at<void*>(workspace));
  });
  const auto wide = static_cast<double>(side);
  return 2 * wide * wide * wide / seconds;
}

Result<double> bytes_per_s(const CeilingSizes& sizes) {
  std::size_t free = 0;
  std::size_t total = 0;
  check(gpu_memory(free, total), "memory");
  const std::size_t bytes = std::min(sizes.copied, free / 8) / sizeof(float) * sizeof(float);
  DeviceMemory memory;
  const int from = memory.add(bytes);
  const int to = memory.add(bytes);
  const std::size_t all = memory.place();
  if (bytes == 0 || memory.allocate() != gpu_success) return too_little(all);
  fill(DType::f32, memory.at<void*>(from), bytes);
  const double by_driver = seconds_of(sizes, [&] {
    check(gpu_copy_later(memory.at<void*>(to), memory.at<void*>(from), bytes, nullptr), "copy");
  });
  const double by_kernel = seconds_of(sizes, [&] {
    launch(nullptr, static_cast<std::int64_t>(bytes / sizeof(float)),
           Convert<float, float>{memory.at<float>(from), memory.at<float>(to), false});
  });
  return 2 * static_cast<double>(bytes) / std::min(by_driver, by_kernel);
}

}  // namespace

Result<Ceilings> measure_ceilings(const MakeMatmul& make, const Numerics& numerics,
                                  const CeilingSizes& sizes) {
  auto operations = operations_per_s(make, numerics, sizes);
  if (!operations) return std::move(operations).error();
  auto bytes = bytes_per_s(sizes);
  if (!bytes) return std::move(bytes).error();
  return Ceilings{.operations_per_s = *operations, .bytes_per_s = *bytes};
}

}  // namespace dllaunch::gpu
