// Runs on 1, 2, 3, 4 and 7 real ranks.
#include "runtime/gradients/gradient_reducer.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/communicators/on_ranks.hpp"

namespace dllaunch {
namespace {

using std::chrono::steady_clock;

/// Every element of slot s on rank r: integers, so that the order of additions does not matter.
float gradient(int rank, int slot, int step) {
  return static_cast<float>(rank * 5 + slot * 3 + step + 1);
}

float sum_of_gradients(int ranks, int slot, int step) {
  float sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += gradient(rank, slot, step);
  return sum;
}

std::span<float> slot_of(const ArenaLayout& layout, std::span<std::byte> memory, int slot) {
  return {static_cast<float*>(layout.at(memory, slot)),
          layout.elements[static_cast<std::size_t>(slot)]};
}

std::vector<int> shuffled_slots(std::size_t slots, unsigned seed) {
  std::vector<int> order(slots);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, std::mt19937(seed));
  return order;
}

/// One step as in the trainer; slots become ready in `order`.
ReducerStats run_step(GradientReducer& reducer, const ArenaLayout& layout,
                      std::span<std::byte> memory, std::span<const int> order, int rank, int step) {
  reducer.begin();
  for (const int slot : order) {
    std::ranges::fill(slot_of(layout, memory, slot), gradient(rank, slot, step));
    reducer.ready(slot);
    reducer.progress();
  }
  return reducer.finish();
}

void expect_sums(const ArenaLayout& layout, std::span<std::byte> memory, int ranks, int step) {
  double total = 0;
  for (int slot = 0; slot < static_cast<int>(layout.offset.size()); ++slot) {
    const auto values = slot_of(layout, memory, slot);
    const float expected = sum_of_gradients(ranks, slot, step);
    ASSERT_TRUE(std::ranges::all_of(values, [&](float x) { return x == expected; }))
        << "slot " << slot << ", step " << step;
    total += static_cast<double>(expected) * static_cast<double>(values.size());
  }
  const auto* all = reinterpret_cast<const float*>(memory.data());
  EXPECT_EQ(std::accumulate(all, all + layout.total, 0.0), total) << "gaps are not zero";
}

TEST(GradientReducer, SumsAnyLayoutInAnyOrder) {
  const auto communicator = all_ranks();
  std::mt19937 shared(2024);  // the same layouts on every rank
  for (int round = 0; round < 40; ++round) {
    std::vector<std::size_t> elements(shared() % 40);
    for (std::size_t& count : elements)
      count = shared() % 5 == 0 ? shared() % 20000 : shared() % 50;
    const ArenaLayout layout = lay_out(DType::f32, elements);
    const auto memory = communicator->allocate(layout.bytes());
    auto buckets = plan_buckets(layout, shared() % 20000, shared() % 2000);
    const int expected_buckets = static_cast<int>(buckets.size());
    GradientReducer reducer(*communicator, layout, memory, std::move(buckets),
                            {.overlap = shared() % 4 != 0});
    for (int step = 0; step < 3; ++step) {
      // Each rank finishes its gradients in a different order.
      const auto order = shuffled_slots(
          elements.size(), static_cast<unsigned>(round * 100 + step * 10 + communicator->rank()));
      const ReducerStats stats =
          run_step(reducer, layout, memory, order, communicator->rank(), step);
      EXPECT_EQ(stats.buckets, expected_buckets);
      EXPECT_LE(stats.done_before_finish, stats.buckets);
      EXPECT_GE(stats.exposed_s, 0);
      expect_sums(layout, memory, communicator->size(), step);
    }
  }
}

/// The backward pass calls ready() for all slots, including unwanted ones.
TEST(GradientReducer, LeavesSlotsInNoBucketAlone) {
  const auto communicator = all_ranks();
  const ArenaLayout layout = lay_out(DType::f32, std::vector<std::size_t>{100, 50, 300, 20, 70});
  const std::vector<bool> wanted = {false, true, false, true, false};
  for (const bool lag : {false, true}) {
    const auto memory = communicator->allocate(layout.bytes());
    GradientReducer reducer(*communicator, layout, memory,
                            buckets_for(layout, plan_buckets(layout, 200, 200), wanted),
                            {.lag = lag});
    const std::vector<int> order = {0, 1, 2, 3, 4};
    for (int step = 0; step < 3; ++step) {
      const auto stats = run_step(reducer, layout, memory, order, communicator->rank(), step);
      EXPECT_EQ(stats.buckets, 2);
      for (const int slot : order) {
        const bool summed = wanted[static_cast<std::size_t>(slot)] && stats.reduced;
        const float expected =
            summed ? sum_of_gradients(communicator->size(), slot, lag ? step - 1 : step)
                   : gradient(communicator->rank(), slot, step);
        ASSERT_EQ(slot_of(layout, memory, slot)[0], expected) << "slot " << slot;
      }
    }
    EXPECT_EQ(reducer.drain(), lag);
  }
}

TEST(GradientReducer, WithoutOverlapStartsNothingBeforeFinish) {
  const auto communicator = all_ranks();
  const ArenaLayout layout = lay_out(DType::f32, std::vector<std::size_t>{10, 20, 30});
  const auto memory = communicator->allocate(layout.bytes());
  GradientReducer reducer(*communicator, layout, memory, plan_buckets(layout, 0, 0),
                          {.overlap = false});
  const std::vector<int> order = {0, 1, 2};
  const auto stats = run_step(reducer, layout, memory, order, communicator->rank(), 0);
  EXPECT_EQ(stats.buckets, 3);
  EXPECT_EQ(stats.done_before_finish, 0);
  expect_sums(layout, memory, communicator->size(), 0);
}

/// A backward pass of `buckets` layers, each a bucket of some MiB. After the last gradient there is
/// time for communication, as the rest of a real pass or the next layer would give.
class Overlap : public testing::Test {
 protected:
  static constexpr int buckets = 8;
  static constexpr std::size_t elements = std::size_t{1} << 20;  // 4 MiB

  Overlap()  // over MPI, which needs the calls most
      : communicator_(all_ranks("mpi")),
        layout_(lay_out(DType::f32, std::vector<std::size_t>(buckets, elements))),
        memory_(communicator_->allocate(layout_.bytes())),
        reducer_(*communicator_, layout_, memory_, plan_buckets(layout_, 1, 1)) {}

  static void compute() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

  /// Computes in slices until all buckets have ended, at most `most` slices. A busy machine takes
  /// more slices, with the same result.
  int backward(bool with_progress, int most) {
    reducer_.begin();
    for (int slot = 0; slot < buckets; ++slot) {
      std::ranges::fill(slot_of(layout_, memory_, slot), gradient(communicator_->rank(), slot, 0));
      reducer_.ready(slot);
    }
    int slices = 0;
    const auto deadline = steady_clock::now() + std::chrono::seconds(20);
    while (slices < most && reducer_.done() < buckets && steady_clock::now() < deadline) {
      compute();
      ++slices;
      if (with_progress) reducer_.progress();
    }
    return slices;
  }

  void meet() { communicator_->wait(communicator_->barrier()); }

  std::unique_ptr<Communicator> communicator_;
  ArenaLayout layout_;
  std::span<std::byte> memory_;
  GradientReducer reducer_;
};

TEST_F(Overlap, NeedsTheProgressCalls) {
  if (communicator_->size() != 2) GTEST_SKIP() << "measured with two ranks";
  const int slices = backward(true, 20000);
  const ReducerStats with = reducer_.finish();
  expect_sums(layout_, memory_, 2, 0);
  EXPECT_GE(with.done_before_finish, buckets - 1) << "after " << slices << " slices of compute";

  meet();
  backward(false, std::max(slices, 50));
  const ReducerStats without = reducer_.finish();
  expect_sums(layout_, memory_, 2, 0);
  EXPECT_LE(without.done_before_finish, buckets / 4) << "MPI progresses by itself here";
  if (communicator_->rank() == 0) {
    fmt::print("buckets ended before finish(): {} of {} with progress(), {} without\n",
               with.done_before_finish, buckets, without.done_before_finish);
  }
}

}  // namespace
}  // namespace dllaunch
