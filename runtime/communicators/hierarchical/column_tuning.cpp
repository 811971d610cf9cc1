#include "runtime/communicators/hierarchical/column_tuning.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <vector>

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t least_bytes = 512;
constexpr std::size_t most_bytes = std::size_t{256} << 10;
constexpr int repetitions = 5;
constexpr std::chrono::milliseconds budget{500};
constexpr double clearly = 0.9;

constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
constexpr std::array<ColumnLimits, 3> ways = {{{.whole_bytes = never},
                                               {.whole_bytes = 0, .parts_bytes = 0},
                                               {.whole_bytes = 0, .parts_bytes = never}}};

std::int64_t nanoseconds_since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

/// The fastest of a few, this rank's; the first is not counted.
std::int64_t time_one(Column& column, std::vector<float>& data, std::uint64_t& step) {
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i <= repetitions; ++i) {
    const auto start = Clock::now();
    const Pending exchange = column.all_reduce(reinterpret_cast<std::byte*>(data.data()),
                                               data.size(), {DType::f32, ReduceOp::sum}, step++);
    while (!column.is_done(exchange)) column.progress();
    if (i > 0) best = std::min(best, nanoseconds_since(start));
  }
  return best;
}

/// What each rank brings, the largest of all.
std::vector<std::int64_t> slowest(const Peers& world, std::span<const std::int64_t> mine) {
  const auto all = world.gather_all(mine);
  std::vector<std::int64_t> most(mine.begin(), mine.end());
  for (std::size_t i = 0; i < all.size(); ++i) {
    most[i % mine.size()] = std::max(most[i % mine.size()], all[i]);
  }
  return most;
}

}  // namespace

ColumnLimits choose_limits(std::span<const WayTimes> times, ColumnLimits otherwise) {
  if (times.empty()) return otherwise;
  ColumnLimits limits = otherwise;
  limits.whole_bytes = 0;
  for (const WayTimes& at : times) {
    if (clearly * at.whole > std::min(at.parts, at.mpi)) break;
    limits.whole_bytes = at.bytes;
  }
  // From the largest down: what is larger still goes in parts, the least traffic there is.
  limits.parts_bytes = times.back().bytes;
  for (auto at = times.rbegin(); at != times.rend() && at->bytes > limits.whole_bytes; ++at) {
    if (clearly * at->parts > at->mpi) break;
    limits.parts_bytes = at->bytes;
  }
  return limits;
}

ColumnLimits measure_limits(const Peers& world, Column* column) {
  const auto start = Clock::now();
  const ColumnLimits before = column == nullptr ? ColumnLimits{} : column->limits();
  std::vector<WayTimes> times;
  std::uint64_t step = 1;
  for (std::size_t bytes = least_bytes; bytes <= most_bytes; bytes *= 2) {
    std::array<std::int64_t, 4> mine = {};
    std::vector<float> data(bytes / sizeof(float));
    for (std::size_t way = 0; way < ways.size() && column != nullptr; ++way) {
      column->set_limits(ways[way]);
      mine[way] = time_one(*column, data, step);
    }
    mine[3] = nanoseconds_since(start);
    const auto all = slowest(world, mine);
    const auto us = [&](std::size_t way) { return static_cast<double>(all[way]) * 1e-3; };
    times.push_back({bytes, us(0), us(1), us(2)});
    if (std::chrono::nanoseconds(all[3]) > budget) break;
  }
  if (column != nullptr) column->set_limits(before);
  return choose_limits(times, ColumnLimits{});
}

}  // namespace dllaunch
