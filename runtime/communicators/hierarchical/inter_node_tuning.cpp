#include "runtime/communicators/hierarchical/inter_node_tuning.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <vector>

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t least_bytes = 1024;
constexpr int repetitions = 3;
constexpr std::chrono::milliseconds budget{500};
constexpr double clearly = 0.9;
constexpr std::size_t usual_bytes = 256 << 10;

constexpr std::array<InterNodeLimits, 2> ways = {
    {{.whole_bytes = std::numeric_limits<std::size_t>::max()}, {.whole_bytes = 0}}};

std::int64_t nanoseconds_since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

/// Returns this rank's fastest of a few runs, after one warm-up.
std::int64_t time_one(InterNode& inter_node, std::vector<float>& data, std::uint64_t& step) {
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i <= repetitions; ++i) {
    const auto start = Clock::now();
    const Pending exchange =
        inter_node.all_reduce(reinterpret_cast<std::byte*>(data.data()), data.size(),
                              {DType::f32, ReduceOp::sum}, step++);
    while (!inter_node.is_done(exchange)) {
      inter_node.progress();
      ::sched_yield();  // ranks may outnumber CPUs
    }
    if (i > 0) best = std::min(best, nanoseconds_since(start));
  }
  return best;
}

/// Returns the element-wise maximum over all ranks.
std::vector<std::int64_t> slowest(const Peers& world, std::span<const std::int64_t> mine) {
  const auto all = world.gather_all(mine);
  std::vector<std::int64_t> most(mine.begin(), mine.end());
  for (std::size_t i = 0; i < all.size(); ++i) {
    most[i % mine.size()] = std::max(most[i % mine.size()], all[i]);
  }
  return most;
}

bool whole_is_slower(const WayTimes& at) {
  return clearly * at.whole > at.parts;
}

}  // namespace

std::size_t choose_whole_bytes(std::span<const WayTimes> times) {
  std::size_t most = 0;
  for (const WayTimes& at : times) {
    if (whole_is_slower(at)) break;
    most = at.bytes;
  }
  return most;
}

std::optional<InterNodeLimits> measure_limits(const Peers& world, InterNode* inter_node) {
  const auto start = Clock::now();
  const InterNodeLimits before = inter_node == nullptr ? InterNodeLimits{} : inter_node->limits();
  std::vector<WayTimes> times;
  std::uint64_t step = 1;
  bool in_time = true;
  for (std::size_t bytes = least_bytes; bytes <= InterNodeLimits::most_whole_bytes; bytes *= 2) {
    std::array<std::int64_t, 3> mine = {};
    std::vector<float> data(bytes / sizeof(float));
    for (std::size_t way = 0; way < ways.size() && inter_node != nullptr; ++way) {
      inter_node->set_limits(ways[way]);
      mine[way] = time_one(*inter_node, data, step);
    }
    mine[2] = nanoseconds_since(start);
    const auto all = slowest(world, mine);
    times.push_back(
        {bytes, static_cast<double>(all[0]) * 1e-3, static_cast<double>(all[1]) * 1e-3});
    // Larger sizes would only be slower.
    if (whole_is_slower(times.back())) break;
    in_time = std::chrono::nanoseconds(all[2]) <= budget;
    if (!in_time) break;
  }
  if (inter_node != nullptr) inter_node->set_limits(before);
  if (!in_time) return std::nullopt;
  InterNodeLimits limits;
  limits.whole_bytes = choose_whole_bytes(times);
  return limits;
}

bool is_faster_by_leaf(const Peers& world, InterNode* inter_node) {
  std::array<std::int64_t, 2> mine = {};
  std::uint64_t step = 1;
  std::vector<float> data(usual_bytes / sizeof(float));
  for (std::size_t way = 0; way < mine.size() && inter_node != nullptr; ++way) {
    const InterNodeLimits before = inter_node->limits();
    inter_node->set_limits({.whole_bytes = 0, .by_leaf = way == 1});
    mine[way] = time_one(*inter_node, data, step);
    inter_node->set_limits(before);
  }
  const auto all = slowest(world, mine);
  return static_cast<double>(all[1]) < clearly * static_cast<double>(all[0]);
}

}  // namespace dllaunch
