#include "launcher/doctor/memory_bandwidth.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "launcher/doctor/numa_memory.hpp"
#include "runtime/rank/binding.hpp"

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double bytes_per_element = 24;

void triad(double* a, const double* b, const double* c, std::size_t count) {
  constexpr double scale = 3.0;
  for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + scale * c[i];
}

struct Span {
  Clock::time_point begin;
  Clock::time_point end;
};

/// One thread's measurement; without an error, one span per repetition.
struct Lane {
  std::optional<Error> error;
  std::vector<Span> spans;
};

/// Every thread, also a failed one, reaches every barrier: the others wait for it.
void run_lane(int cpu, int numa, const BandwidthEffort& effort, std::barrier<>& barrier,
              Lane& lane) {
  const std::size_t count = effort.bytes_per_array / sizeof(double);
  auto bound = apply_binding({cpu});
  if (!bound) lane.error = std::move(bound).error();
  auto memory = NumaMemory::allocate(3 * count * sizeof(double), numa);
  if (!memory && !lane.error) lane.error = memory.error();
  for (int i = 0; i <= effort.repetitions; ++i) {
    barrier.arrive_and_wait();
    if (lane.error) continue;
    auto* a = static_cast<double*>(memory->data());
    const auto begin = Clock::now();
    triad(a, a + count, a + 2 * count, count);
    // The first round warms up.
    if (i > 0) lane.spans.push_back({begin, Clock::now()});
  }
}

double seconds(const std::vector<Lane>& lanes, std::size_t repetition) {
  auto begin = Clock::time_point::max();
  auto end = Clock::time_point::min();
  for (const auto& lane : lanes) {
    begin = std::min(begin, lane.spans[repetition].begin);
    end = std::max(end, lane.spans[repetition].end);
  }
  return std::max(1e-9, std::chrono::duration<double>(end - begin).count());
}

}  // namespace

Result<double> measure_bandwidth(const IdSet& cpus, int numa, const BandwidthEffort& effort) {
  if (cpus.empty()) return Error{ErrorKind::unavailable, "no CPU to measure from", ""};
  const auto ids = cpus.ids();
  std::vector<Lane> lanes(ids.size());
  std::barrier barrier(static_cast<std::ptrdiff_t>(ids.size()));
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < ids.size(); ++i)
      threads.emplace_back([&, i] { run_lane(ids[i], numa, effort, barrier, lanes[i]); });
  }
  for (auto& lane : lanes)
    if (lane.error) return *std::move(lane.error);
  std::vector<double> times;
  for (std::size_t r = 0; r < static_cast<std::size_t>(effort.repetitions); ++r)
    times.push_back(seconds(lanes, r));
  std::ranges::sort(times);
  const std::size_t elements_per_array = effort.bytes_per_array / sizeof(double);
  const auto elements = static_cast<double>(elements_per_array * ids.size());
  return bytes_per_element * elements / times[times.size() / 2] / 1e9;
}

}  // namespace dllaunch
