// Every rank is a node here; run under mpirun.
#include "runtime/communicators/hierarchical/inter_node.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "runtime/numerics/float16.hpp"
#include "tests/runtime/communicators/on_ranks.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t everything = std::size_t{1} << 30;

template <typename T>
std::vector<T> reduced(InterNode& nodes, std::vector<T> data, const Reduction& reduction,
                       std::uint64_t step) {
  const auto exchange =
      nodes.all_reduce(reinterpret_cast<std::byte*>(data.data()), data.size(), reduction, step);
  while (!nodes.is_done(exchange)) nodes.progress();
  return data;
}

/// Two leaves, the first with more nodes.
std::optional<NodeLeaves> two_leaves(int nodes) {
  if (nodes < 2) return std::nullopt;
  return NodeLeaves({nodes - nodes / 3 - 1, nodes / 3 + 1});
}

// Which one is the fastest is measured: results must not depend on it.
template <typename T>
void expect_same_bits(DType type, ReduceOp op) {
  const int ranks = all_peers()->size();
  InterNode nodes(all_peers(), {}, two_leaves(ranks));
  std::mt19937 random(static_cast<unsigned>(nodes.node()));
  std::uniform_real_distribution<float> number(-1000, 1000);
  std::uint64_t step = 0;
  for (const std::size_t count : {1U, 63U, 64U, 1000U, 40'000U}) {
    std::vector<T> data(count);
    for (auto& one : data) {
      if constexpr (std::is_same_v<T, Float16>)
        one = to_float16(number(random));
      else
        one = number(random);
    }
    const Reduction reduction{type, op, ranks};
    nodes.set_limits({.whole_bytes = everything});
    const auto whole = reduced(nodes, data, reduction, step++);
    nodes.set_limits({.whole_bytes = 0});
    const auto parts = reduced(nodes, data, reduction, step++);
    nodes.set_limits({.whole_bytes = 0, .by_leaf = true});
    const auto by_leaf = reduced(nodes, data, reduction, step++);
    EXPECT_EQ(std::memcmp(whole.data(), parts.data(), count * sizeof(T)), 0) << count;
    EXPECT_EQ(std::memcmp(whole.data(), by_leaf.data(), count * sizeof(T)), 0) << count;
  }
}

TEST(InterNode, GivesTheSameBitsByEveryWay) {
  if (all_peers()->size() < 2) GTEST_SKIP() << "one node exchanges nothing";
  expect_same_bits<float>(DType::f32, ReduceOp::sum);
  expect_same_bits<float>(DType::f32, ReduceOp::average);
  expect_same_bits<float>(DType::f32, ReduceOp::max);
  expect_same_bits<Float16>(DType::f16, ReduceOp::average);
}

}  // namespace
}  // namespace dllaunch
