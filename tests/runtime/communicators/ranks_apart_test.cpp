// Every communicator with ranks that are out of step; communicators_test.cpp has the rest.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "tests/runtime/communicators/on_ranks.hpp"

namespace dllaunch {
namespace {

std::vector<std::string> names() {
  std::vector<std::string> all = {"nodes_of_1", "nodes_of_2", "tcp_nodes_of_1", "tcp_nodes_of_2"};
  for (const CommunicatorEntry& entry : communicators()) {
    if (entry.name != "nccl") all.emplace_back(entry.name);  // GPU memory: nccl_test.cpp
  }
  return all;
}

class RanksApart : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto env = read_rank_env(process_environment());
    ASSERT_TRUE(env) << env.error().what;
    const std::string& name = GetParam();
    if (name == "solo" && env->world_size > 1) GTEST_SKIP() << "solo is for one rank";
    if (name.starts_with("nodes_of_")) {
      communicator_ = in_nodes_of(name.back() - '0');
    } else if (name.starts_with("tcp_nodes_of_")) {
      communicator_ = in_nodes_of(name.back() - '0', all_tcp_peers());
    } else {
      communicator_ = all_ranks(name);
    }
  }
  std::unique_ptr<Communicator> communicator_;
};

INSTANTIATE_TEST_SUITE_P(Communicators, RanksApart, testing::ValuesIn(names()),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

/// One of many operations in progress, with the expected content of its buffer.
struct Underway {
  std::vector<std::int64_t> data;
  std::vector<std::int64_t> expected;
  Pending pending;
};

/// Starts kind k % 5. Sizes lie on both sides of where communicators change their algorithm.
Underway start_operation(Communicator& ranks, std::size_t k) {
  const std::size_t count = 1 + k % 7 * k * 40;
  const auto blocks = static_cast<std::size_t>(ranks.size());
  const auto number = static_cast<std::int64_t>(k);
  const std::int64_t mine = ranks.rank() + number;
  const std::int64_t sum = ranks.size() * number + ranks.size() * (ranks.size() - 1) / 2;
  Underway one{std::vector<std::int64_t>(k % 5 < 3 ? count : count * blocks, mine), {}, {}};
  one.expected = one.data;
  if (k % 5 == 0) one.pending = ranks.barrier();
  if (k % 5 == 1) {
    const int root = static_cast<int>(k) % ranks.size();
    one.pending = ranks.broadcast(one.data.data(), count, DType::i64, root);
    std::ranges::fill(one.expected, root + number);
  }
  if (k % 5 == 2) {
    one.pending = ranks.all_reduce(one.data.data(), count, DType::i64, ReduceOp::sum);
    std::ranges::fill(one.expected, sum);
  }
  if (k % 5 == 3) {
    one.pending = ranks.all_gather(one.data.data(), count, DType::i64);
    for (std::size_t i = 0; i < one.expected.size(); ++i) {
      one.expected[i] = static_cast<std::int64_t>(i / count) + number;
    }
  }
  if (k % 5 == 4) {
    one.pending = ranks.reduce_scatter(one.data.data(), count, DType::i64, ReduceOp::sum);
    std::ranges::fill(one.expected, sum);
  }
  return one;
}

TEST_P(RanksApart, EndsManyOperationsInAnyOrder) {
  constexpr std::size_t operations = 60;
  std::vector<Underway> all;
  all.reserve(operations);
  for (std::size_t k = 0; k < operations; ++k) all.push_back(start_operation(*communicator_, k));
  // Each rank waits in a different order.
  std::vector<std::size_t> order(operations);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, std::mt19937(static_cast<unsigned>(communicator_->rank())));
  for (const std::size_t k : order) {
    Underway& one = all[k];
    communicator_->wait(one.pending);
    EXPECT_TRUE(communicator_->test(one.pending));
    if (k % 5 == 4) {  // only this rank's block is defined
      const std::size_t count = one.data.size() / static_cast<std::size_t>(communicator_->size());
      const auto first =
          one.data.begin() + static_cast<std::ptrdiff_t>(count) * communicator_->rank();
      one.data.assign(first, first + static_cast<std::ptrdiff_t>(count));
      one.expected.resize(count);
    }
    ASSERT_EQ(one.data, one.expected) << "operation " << k;
  }
}

// Even ranks start everything at once, odd ranks one by one: messages of different operations must
// not be confused.
TEST_P(RanksApart, KeepsOperationsApartWhenSomeRanksRunAhead) {
  const std::size_t blocks = static_cast<std::size_t>(communicator_->size());
  for (int round = 0; round < 3; ++round) {
    std::vector<std::int64_t> sums(5000, communicator_->rank());
    std::vector<std::int64_t> gathered(100 * blocks, 1000 + communicator_->rank());
    std::vector<std::int64_t> more(100 * blocks, 2000 + communicator_->rank());
    std::vector<Pending> pending;
    const auto started = [&](Pending one) {
      if (communicator_->rank() % 2 == 1) communicator_->wait(one);
      pending.push_back(one);
    };
    started(communicator_->all_reduce(sums.data(), sums.size(), DType::i64, ReduceOp::sum));
    started(communicator_->barrier());
    started(communicator_->all_gather(gathered.data(), 100, DType::i64));
    started(communicator_->all_gather(more.data(), 100, DType::i64));
    for (const Pending one : pending) communicator_->wait(one);
    ASSERT_EQ(sums, std::vector<std::int64_t>(
                        5000, communicator_->size() * (communicator_->size() - 1) / 2));
    for (std::size_t i = 0; i < gathered.size(); ++i) {
      ASSERT_EQ(gathered[i], 1000 + static_cast<std::int64_t>(i / 100)) << "element " << i;
      ASSERT_EQ(more[i], 2000 + static_cast<std::int64_t>(i / 100)) << "element " << i;
    }
  }
}

TEST_P(RanksApart, AllocatesWhileOthersWait) {
  std::vector<double> x(100'000, communicator_->rank());
  const Pending pending = communicator_->all_reduce(x.data(), x.size(), DType::f64, ReduceOp::max);
  if (communicator_->rank() % 2 == 1) communicator_->wait(pending);
  EXPECT_EQ(communicator_->allocate(1000).size(), 1000u);
  communicator_->wait(pending);
  EXPECT_EQ(x, std::vector<double>(100'000, communicator_->size() - 1));
}

// Also for memory that the communicator allocated.
TEST_P(RanksApart, FinishesUnawaitedOperationsInItsOwnMemory) {
  const auto memory = communicator_->allocate(400'000);
  auto* const x = reinterpret_cast<float*>(memory.data());
  communicator_->all_reduce(x, 100'000, DType::f32, ReduceOp::sum);
  communicator_.reset();
}

}  // namespace
}  // namespace dllaunch
