#include "bench/gpu/ceilings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

#include "trainer/backends/gpu/check.hpp"
#include "trainer/backends/gpu/kernels/elementwise_functors.hpp"
#include "trainer/backends/gpu/kernels/launch.hpp"
#include "trainer/backends/gpu/kernels/norm_functors.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"
#include "trainer/graph/layers/table.hpp"

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

/// Arrays of activations and of a normalisation's channels.
template <typename T>
struct KernelArrays {
  DeviceMemory memory = {};
  T* x = nullptr;
  T* y = nullptr;
  T* dy = nullptr;
  T* dx = nullptr;
  NormChannel of = {};
  float* means = nullptr;    // [2, channels]
  float* partial = nullptr;  // [2, chunks, channels]
  double* joined = nullptr;  // [2, channels]
};

/// Returns the bytes that are not there, or 0.
template <typename T>
std::size_t allocate(KernelArrays<T>& arrays, const Chunks& chunks) {
  const auto channels = static_cast<std::size_t>(chunks.channels);
  const std::size_t bytes = static_cast<std::size_t>(chunks.pixels) * channels * sizeof(T);
  const std::size_t partial = 2 * static_cast<std::size_t>(chunks.count) * channels * sizeof(float);
  DeviceMemory& memory = arrays.memory;
  for (int i = 0; i < 4; ++i) memory.add(bytes);
  for (int i = 0; i < 5; ++i) memory.add(2 * channels * sizeof(float));
  memory.add(partial);
  memory.add(2 * channels * sizeof(double));
  const std::size_t all = memory.place();
  if (memory.allocate() != gpu_success) return all;
  arrays.x = memory.at<T>(0);
  arrays.y = memory.at<T>(1);
  arrays.dy = memory.at<T>(2);
  arrays.dx = memory.at<T>(3);
  arrays.of = {memory.at<float>(4), memory.at<float>(5), memory.at<float>(6), memory.at<float>(7)};
  arrays.means = memory.at<float>(8);
  arrays.partial = memory.at<float>(9);
  arrays.joined = memory.at<double>(10);
  for (int i = 0; i < 4; ++i) fill<T>(memory.at<void*>(i), bytes);
  for (int i = 4; i < 9; ++i) fill<float>(memory.at<void*>(i), 2 * channels * sizeof(float));
  fill<float>(arrays.partial, partial);
  return 0;
}

template <typename T>
Result<std::vector<KernelRate>> kernel_rates(const Chunks& chunks, const CeilingSizes& sizes) {
  KernelArrays<T> at;
  if (const std::size_t lacking = allocate(at, chunks); lacking > 0) return too_little(lacking);
  const std::int64_t channels = chunks.channels;
  const std::int64_t elements = chunks.pixels * channels;
  const std::int64_t parts = chunks.count * channels;
  const double each = static_cast<double>(elements) * sizeof(T);
  std::vector<KernelRate> rates;
  const auto measure = [&](const char* name, double bytes, std::int64_t count,
                           const auto& functor) {
    rates.push_back({name, bytes, seconds_of(sizes, [&] { launch(nullptr, count, functor); })});
  };
  const MaskedGrad<T> masked{at.dy, at.y};
  measure("moments", each, parts, ChunkMoments<T>{at.x, chunks, at.partial, at.partial + parts});
  measure("forward", 2 * each, elements,
          NormForward<T>{at.x, nullptr, at.y, at.of, channels, true});
  measure("grad sums", 3 * each, parts, ChunkGradSums<T>{masked, at.x, at.of, chunks, at.partial});
  measure("joined sums", 2 * static_cast<double>(parts) * sizeof(float), 2 * channels,
          JoinSums<double>{at.partial, chunks, at.joined, nullptr, nullptr, false});
  measure("backward", 4 * each, elements,
          NormBackward<T>{masked, at.x, at.of, at.means, channels, elements, at.dx, nullptr, false,
                          false});
  measure("addition", 3 * each, elements, SumOfTwo<T>{at.x, at.dy, at.dx});
  measure("relu backward", 3 * each, elements,
          ActivationBackward<Relu, T>{at.y, at.dy, at.dx, false});
  return rates;
}

}  // namespace

Result<std::vector<KernelRate>> measure_kernels(DType type, std::int64_t pixels,
                                                std::int64_t channels, const CeilingSizes& sizes) {
  const Chunks chunks = chunks_of(pixels, channels);
  if (type == DType::bf16) return kernel_rates<BFloat16>(chunks, sizes);
  if (type == DType::f16) return kernel_rates<Float16>(chunks, sizes);
  return kernel_rates<float>(chunks, sizes);
}

Result<Ceilings> measure_ceilings(const MakeMatmul& make, const Numerics& numerics,
                                  const CeilingSizes& sizes) {
  auto operations = operations_per_s(make, numerics, sizes);
  if (!operations) return std::move(operations).error();
  auto bytes = bytes_per_s(sizes);
  if (!bytes) return std::move(bytes).error();
  return Ceilings{.operations_per_s = *operations, .bytes_per_s = *bytes};
}

}  // namespace dllaunch::gpu
