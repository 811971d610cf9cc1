#include "launcher/preflight/cpu_speed.hpp"

#include <algorithm>
#include <array>
#include <barrier>
#include <ctime>
#include <optional>
#include <thread>
#include <vector>

#include "launcher/preflight/outliers.hpp"
#include "runtime/rank/binding.hpp"
#include "support/awake_clock.hpp"

namespace dllaunch {
namespace {

using Clock = AwakeClock;

constexpr double bytes_per_element = 24;
constexpr std::size_t lanes = 16;
constexpr int rounds = 100'000;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double wall_seconds() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

/// Volatile: the compiler must not precompute the sum.
volatile double factor_to_use = 0.999;
volatile double step_to_use = 0.001;

/// Independent chains measure throughput, not latency.
double multiply_and_add() {
  const double factor = factor_to_use;
  const double step = step_to_use;
  std::array<double, lanes> values{};
  for (std::size_t i = 0; i < lanes; ++i) values[i] = static_cast<double>(i);
  for (int round = 0; round < rounds; ++round)
    for (auto& value : values) value = value * factor + step;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

void triad(std::vector<double>& a, const std::vector<double>& b, const std::vector<double>& c) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = b[i] + 3.0 * c[i];
}

/// One thread's measurements.
struct Lane {
  std::optional<Error> error = {};
  double gflops = 0;
  double gb_per_s = 0;
  double share = 1;
  bool sums_agree = true;
};

void compute(const SpeedEffort& effort, Lane& lane) {
  const double first_sum = multiply_and_add();  // and warms up
  const double wall = wall_seconds();
  const double cpu = cpu_seconds();
  const double end = wall + std::chrono::duration<double>(effort.each).count();
  do {
    const double begin = cpu_seconds();
    if (multiply_and_add() != first_sum) lane.sums_agree = false;
    const double took = std::max(1e-9, cpu_seconds() - begin);
    lane.gflops = std::max(lane.gflops, 2.0 * lanes * rounds / took / 1e9);
  } while (wall_seconds() < end);
  lane.share = (cpu_seconds() - cpu) / std::max(1e-9, wall_seconds() - wall);
}

void stream(const SpeedEffort& effort, Lane& lane) {
  const std::size_t count = effort.bytes_per_array / sizeof(double);
  std::vector<double> a(count);
  const std::vector<double> b(count, 1.0);
  const std::vector<double> c(count, 2.0);
  const double end = wall_seconds() + std::chrono::duration<double>(effort.each).count();
  do {
    const double begin = cpu_seconds();
    triad(a, b, c);
    const double took = std::max(1e-9, cpu_seconds() - begin);
    const double bytes = bytes_per_element * static_cast<double>(count);
    lane.gb_per_s = std::max(lane.gb_per_s, bytes / took / 1e9);
    if (a[count / 2] != 7.0) lane.sums_agree = false;
  } while (wall_seconds() < end);
}

}  // namespace

Result<CpuSpeed> measure_cpu_speed(const IdSet& cpus, const SpeedEffort& effort) {
  const auto ids = cpus.ids();
  if (ids.empty()) return Error{ErrorKind::unavailable, "no CPU to measure", ""};
  // Spread over the set, so that not all use the same memory controller.
  const std::size_t step = std::max<std::size_t>(1, ids.size() / effort.most_memory_threads);
  std::vector<Lane> all(ids.size());
  std::barrier barrier(static_cast<std::ptrdiff_t>(ids.size()));
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < ids.size(); ++i)
      threads.emplace_back([&, i] {
        auto& lane = all[i];
        if (auto bound = apply_binding({ids[i]}); !bound) lane.error = std::move(bound).error();
        barrier.arrive_and_wait();
        if (!lane.error) compute(effort, lane);
        barrier.arrive_and_wait();
        if (!lane.error && i % step == 0) stream(effort, lane);
      });
  }
  CpuSpeed speed{.cpus = static_cast<int>(ids.size())};
  std::vector<double> flops;
  std::vector<double> bytes;
  std::vector<double> shares;
  for (auto& lane : all) {
    if (lane.error) return *std::move(lane.error);
    flops.push_back(lane.gflops);
    shares.push_back(lane.share);
    if (lane.gb_per_s > 0) bytes.push_back(lane.gb_per_s);
    speed.sums_agree = speed.sums_agree && lane.sums_agree;
  }
  speed.gflops = median_of(std::move(flops));
  speed.gb_per_s = median_of(std::move(bytes));
  speed.share = median_of(std::move(shares));
  return speed;
}

}  // namespace dllaunch
