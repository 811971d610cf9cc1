// On 1 to 4 real ranks, which share one clock, so the right result is known.
#include "runtime/timeline/clock_bounds.hpp"
#include "runtime/communicators/opening/communicators.hpp"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

namespace dllaunch {
namespace {

TEST(ClockBounds, HoldForAnyDelays) {
  std::mt19937_64 random(1);
  const auto delay = [&] { return static_cast<std::int64_t>(random() % 1'000'000); };
  for (int i = 0; i < 1000; ++i) {
    const auto offset = static_cast<std::int64_t>(random() >> 4U) - (1LL << 59);
    std::int64_t now = 1'000'000'000;  // rank 0's clock
    std::vector<ClockRound> rounds;
    for (int round = 0; round < 10; ++round) {
      ClockRound one;
      one.sent_ns = now += delay();
      one.received_ns = (now += delay()) - offset;
      one.answered_ns = (now += delay()) - offset;
      one.closed_ns = now += delay();
      rounds.push_back(one);
    }
    const ClockBounds bounds = bounds_of(rounds);
    EXPECT_LE(bounds.low_ns, offset);
    EXPECT_GE(bounds.high_ns, offset);
    EXPECT_LE(bounds.high_ns - bounds.low_ns, 2'000'000);
    EXPECT_NEAR(static_cast<double>(bounds.middle_ns() - offset), 0, 1'000'000);
  }
}

class MeasuredClock : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto env = read_rank_env(process_environment());
    if (!env) throw std::runtime_error(env.error().what);
    auto opened = open_communicator(GetParam(), *env);
    if (!opened) throw std::runtime_error(opened.error().what);
    communicator_ = *std::move(opened);
  }
  std::unique_ptr<Communicator> communicator_;
};

TEST_P(MeasuredClock, OfOneNodeIsExactlyTheSame) {
  EXPECT_EQ(clock_identity(), clock_identity());
  const ClockBounds bounds = measure_clock(*communicator_, clock_identity());
  EXPECT_EQ(bounds.low_ns, 0);
  EXPECT_EQ(bounds.high_ns, 0);
  EXPECT_GT(bounds.at_ns, 0);
}

/// Ranks that claim to be on different nodes: the true offset is 0.
TEST_P(MeasuredClock, OfDifferentNodesHasTheTruthWithinItsBounds) {
  for (int i = 0; i < 20; ++i) {
    const ClockBounds bounds = measure_clock(*communicator_, communicator_->rank());
    EXPECT_LE(bounds.low_ns, 0);
    EXPECT_GE(bounds.high_ns, 0);
    EXPECT_LT(bounds.high_ns - bounds.low_ns, 1'000'000'000);
  }
}

TEST_P(MeasuredClock, IsTheSameOnRanksOfOneNode) {
  const int node = communicator_->rank() / 2;
  const ClockBounds bounds = measure_clock(*communicator_, node);
  std::vector<std::int64_t> all(static_cast<std::size_t>(communicator_->size()) * 2);
  all[static_cast<std::size_t>(communicator_->rank()) * 2] = bounds.low_ns;
  all[static_cast<std::size_t>(communicator_->rank()) * 2 + 1] = bounds.high_ns;
  communicator_->wait(communicator_->all_gather(all.data(), 2, DType::i64));
  for (std::size_t rank = 0; rank < all.size() / 2; ++rank) {
    if (rank / 2 != static_cast<std::size_t>(node)) continue;
    EXPECT_EQ(all[rank * 2], bounds.low_ns);
    EXPECT_EQ(all[rank * 2 + 1], bounds.high_ns);
  }
}

INSTANTIATE_TEST_SUITE_P(Communicators, MeasuredClock,
                         testing::Values("auto", "mpi", "ring", "parameter-server"));

}  // namespace
}  // namespace dllaunch
