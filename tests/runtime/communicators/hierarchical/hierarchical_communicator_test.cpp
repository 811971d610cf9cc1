// Ranks are threads here, so that ThreadSanitizer sees all of them. communicators_test.cpp checks
// the interface on real ranks.
#include "runtime/communicators/hierarchical/hierarchical_communicator.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

namespace dllaunch {
namespace {

/// One node whose ranks are threads.
class Node {
 public:
  explicit Node(int ranks)
      : ranks_(ranks), barrier_(ranks), shared_(static_cast<std::size_t>(ranks)) {}

  /// Calls body(communicator) on every rank at once.
  void run(std::size_t staging_bytes, const std::function<void(Communicator&)>& body) {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks_; ++rank) {
      threads.emplace_back([=, this, &body] {
        NodeMap map{.rank = rank,
                    .node = {},
                    .local_index = {},
                    .columns = ranks_,
                    .crowded = ranks_ > static_cast<int>(std::thread::hardware_concurrency())};
        map.node.resize(static_cast<std::size_t>(ranks_));
        map.local_index.resize(static_cast<std::size_t>(ranks_));
        std::iota(map.local_index.begin(), map.local_index.end(), 0);
        HierarchicalCommunicator communicator(
            std::move(map), [=, this](std::size_t bytes) { return share(rank, bytes); }, nullptr,
            staging_bytes);
        body(communicator);
      });
    }
  }

 private:
  SharedPieces share(int rank, std::size_t bytes) {
    struct Free {
      void operator()(std::byte* piece) const { std::free(piece); }
    };
    const std::size_t whole = (bytes + 63) / 64 * 64;
    std::shared_ptr<std::byte> mine(static_cast<std::byte*>(std::aligned_alloc(64, whole)), Free());
    std::fill_n(mine.get(), whole, std::byte{0});
    shared_[static_cast<std::size_t>(rank)] = std::move(mine);
    barrier_.arrive_and_wait();
    auto all = std::make_shared<std::vector<std::shared_ptr<std::byte>>>(shared_);
    barrier_.arrive_and_wait();
    SharedPieces pieces;
    for (const auto& piece : *all) pieces.pieces.push_back(piece.get());
    pieces.owner = std::move(all);
    return pieces;
  }

  int ranks_;
  std::barrier<> barrier_;
  std::vector<std::shared_ptr<std::byte>> shared_;
};

constexpr std::size_t small_staging = 4096;

/// Rank r contributes r + 1 everywhere.
void reduce_ones(Communicator& ranks, float* data, std::size_t count) {
  std::fill_n(data, count, static_cast<float>(ranks.rank() + 1));
  ranks.wait(ranks.all_reduce(data, count, DType::f32, ReduceOp::sum));
  const auto sum = static_cast<float>(ranks.size() * (ranks.size() + 1) / 2);
  for (std::size_t i = 0; i < count; ++i)
    ASSERT_EQ(data[i], sum) << "element " << i << " of " << count;
}

class RanksAsThreads : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, RanksAsThreads, testing::Values(1, 2, 3, 5));

TEST_P(RanksAsThreads, ReduceInTheirOwnMemoryAndInTheShared) {
  Node(GetParam()).run(small_staging, [](Communicator& ranks) {
    const auto shared = ranks.allocate(100'000);
    for (const std::size_t count : {1u, 5u, 100u, 1024u, 1025u, 25'000u}) {
      reduce_ones(ranks, reinterpret_cast<float*>(shared.data()), count);
      std::vector<float> own(count);
      reduce_ones(ranks, own.data(), count);
    }
  });
}

// One rank may use shared memory and another its own: each announces where its data is.
TEST_P(RanksAsThreads, NeedNotAgreeWhereTheirDataLies) {
  Node(GetParam()).run(small_staging, [](Communicator& ranks) {
    const auto shared = ranks.allocate(40'000);
    std::vector<float> own(5000);
    float* const in_shared = reinterpret_cast<float*>(shared.data()) + 16 * ranks.rank();
    reduce_ones(ranks, ranks.rank() % 2 == 0 ? own.data() : in_shared, own.size());
  });
}

// More steps than the window holds, with ranks as far apart as it allows.
TEST_P(RanksAsThreads, MayBeFarApart) {
  Node(GetParam()).run(small_staging, [](Communicator& ranks) {
    std::mt19937 random(static_cast<unsigned>(ranks.rank()));
    std::vector<std::int64_t> x(300, 1);
    std::vector<Pending> pending;
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (random() % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      pending.push_back(ranks.all_reduce(&x[k], 1, DType::i64, ReduceOp::sum));
      if (random() % 3 == 0) ranks.test({});
    }
    for (const Pending each : pending) ranks.wait(each);
    for (const std::int64_t each : x) ASSERT_EQ(each, ranks.size());
  });
}

TEST_P(RanksAsThreads, DoEveryCollectiveInTurn) {
  Node(GetParam()).run(small_staging, [](Communicator& ranks) {
    const auto size = static_cast<std::size_t>(ranks.size());
    const auto rank = static_cast<std::size_t>(ranks.rank());
    for (const std::size_t count : {1u, 700u, 3000u}) {
      std::vector<double> blocks(count * size, static_cast<double>(rank));
      ranks.wait(ranks.all_gather(blocks.data(), count, DType::f64));
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        ASSERT_EQ(blocks[i], static_cast<double>(i / count));
      }
      ranks.wait(ranks.reduce_scatter(blocks.data(), count, DType::f64, ReduceOp::average));
      for (std::size_t i = rank * count; i < (rank + 1) * count; ++i) {
        ASSERT_EQ(blocks[i], static_cast<double>(rank));
      }
      ranks.wait(ranks.barrier());
      for (int root = 0; root < ranks.size(); ++root) {
        std::vector<double> x(count, root == ranks.rank() ? 7.5 : -1);
        ranks.wait(ranks.broadcast(x.data(), count, DType::f64, root));
        ASSERT_EQ(x, std::vector<double>(count, 7.5));
      }
    }
  });
}

TEST_P(RanksAsThreads, FinishUnawaitedOperations) {
  const int size = GetParam();
  std::vector<std::vector<double>> x(static_cast<std::size_t>(size), std::vector<double>(5000, 1));
  Node(size).run(small_staging, [&](Communicator& ranks) {
    auto& mine = x[static_cast<std::size_t>(ranks.rank())];
    ranks.all_reduce(mine.data(), mine.size(), DType::f64, ReduceOp::sum);
  });
  for (const auto& each : x) EXPECT_EQ(each, std::vector<double>(5000, size));
}

TEST(HierarchicalCommunicatorDeathTest, RanksThatDisagreeAreNamed) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto disagree = [] {
    Node(2).run(small_staging, [](Communicator& ranks) {
      float x = 0;
      if (ranks.rank() == 0) ranks.wait(ranks.all_reduce(&x, 1, DType::f32, ReduceOp::sum));
      if (ranks.rank() == 1) ranks.wait(ranks.broadcast(&x, 1, DType::f32, 0));
    });
  };
  EXPECT_DEATH(disagree(),
               "collective: rank . is in (all_reduce of 1 f32 by sum, rank 1 in broadcast of 1 f32 "
               "from rank 0|broadcast of 1 f32 from rank 0, rank 0 in all_reduce of 1 f32 by sum)");
}

}  // namespace
}  // namespace dllaunch
