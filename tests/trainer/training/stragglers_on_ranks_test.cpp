// On real ranks whose phases are sleeps: sleeping ranks do not compete for cores.
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime/activity/observed_communicator.hpp"
#include "runtime/communicators/opening/communicators.hpp"
#include "trainer/reports/stragglers.hpp"

namespace dllaunch {
namespace {

struct StepSleeps {
  int data_ms = 1;
  int compute_ms = 4;
};

void sleep_ms(int ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

class LateRanks : public testing::Test {
 protected:
  void SetUp() override {
    auto env = read_rank_env(process_environment());
    if (!env) throw std::runtime_error(env.error().what);
    auto opened = open_communicator("auto", *env);
    if (!opened) throw std::runtime_error(opened.error().what);
    communicator_ = std::make_unique<ObservedCommunicator>(*std::move(opened), activity_);
  }

  EpochRanks epoch(const StepSleeps& mine, int steps = 30, int stage = 0) {
    StragglerWatch watch(*communicator_, activity_, "host" + std::to_string(communicator_->rank()),
                         stage);
    activity_.enter(RankPhase::between);
    watch.begin_epoch();
    std::vector<float> gradients(1000, 1.0F);
    for (int step = 0; step < steps; ++step) {
      activity_.enter(RankPhase::data);
      sleep_ms(mine.data_ms);
      activity_.enter(RankPhase::forward);
      activity_.enter(RankPhase::backward);
      watch.begin_exchange();
      const auto begin = Clock::now();
      sleep_ms(mine.compute_ms);
      computed_s_ += std::chrono::duration<double>(Clock::now() - begin).count();
      activity_.enter(RankPhase::reduce);
      watch.end_exchange();
      communicator_->wait(
          communicator_->all_reduce(gradients.data(), gradients.size(), DType::f32, ReduceOp::sum));
      activity_.enter(RankPhase::between);
      watch.end_step();
    }
    return watch.end_epoch();
  }

  /// Collective. Returns how much longer the last rank has computed than the first. On a busy
  /// machine sleeps are longer than requested.
  double lead_of_last() {
    double seconds[2] = {first() ? computed_s_ : 0, last() ? computed_s_ : 0};
    communicator_->wait(communicator_->all_reduce(seconds, 2, DType::f64, ReduceOp::sum));
    return seconds[1] - seconds[0];
  }

  bool last() const { return communicator_->rank() == communicator_->size() - 1; }
  bool first() const { return communicator_->rank() == 0; }

  using Clock = std::chrono::steady_clock;

  Activity activity_;
  double computed_s_ = 0;
  std::unique_ptr<ObservedCommunicator> communicator_;
};

TEST_F(LateRanks, EqualOnesAreQuiet) {
  const auto ranks = epoch({});
  if (!first()) return;
  ASSERT_EQ(ranks.ranks.size(), static_cast<std::size_t>(communicator_->size()));
  for (const RankSeconds& rank : ranks.ranks) {
    EXPECT_EQ(rank.steps, 30);
    EXPECT_GE(rank.data, 0.03);
    EXPECT_GE(rank.compute(), 0.12);
    EXPECT_GE(rank.communication, 0);
    EXPECT_GE(rank.waiting, 0);
  }
  EXPECT_TRUE(straggler_lines(ranks, 9).empty()) << straggler_lines(ranks, 9)[0];
}

TEST_F(LateRanks, NamesASlowRankAndTheOthersWait) {
  if (communicator_->size() < 2) return;
  const auto ranks = epoch(last() ? StepSleeps{.compute_ms = 12} : StepSleeps{});
  const double lead = lead_of_last();
  if (!first()) return;
  ASSERT_EQ(ranks.stragglers.size(), 1u);
  const Straggler& late = ranks.stragglers[0];
  EXPECT_EQ(late.rank, communicator_->size() - 1);
  EXPECT_EQ(late.cause, Lateness::compute);
  EXPECT_EQ(late.phase, RankPhase::backward);
  EXPECT_NEAR(late.seconds / late.median, 3, 0.7);
  EXPECT_EQ(ranks.hosts[static_cast<std::size_t>(late.rank)], "host" + std::to_string(late.rank));
  // 8 ms in each of 30 steps: waited by the others, caused by the late rank.
  EXPECT_GT(lead, 0.2);
  EXPECT_NEAR(ranks.ranks.front().waiting, lead, 0.08);
  EXPECT_NEAR(late.delayed, lead, 0.08);
  EXPECT_LT(ranks.ranks.back().waiting, 0.05);
}

TEST_F(LateRanks, AStageOfOneRankIsNoStragglerButASlowStage) {
  if (communicator_->size() < 2) return;
  const auto ranks =
      epoch(last() ? StepSleeps{.compute_ms = 12} : StepSleeps{}, 30, last() ? 1 : 0);
  if (!first()) return;
  for (const Straggler& late : ranks.stragglers) EXPECT_NE(late.rank, communicator_->size() - 1);
  ASSERT_TRUE(ranks.slow_stage);
  EXPECT_EQ(ranks.slow_stage->stage, 1);
  EXPECT_GT(ranks.slow_stage->waiting, 0.3);
  EXPECT_EQ(ranks.ranks.back().delayed, 0) << "no rank does the same";
  EXPECT_GT(ranks.ranks.front().waiting, 0.1);
}

TEST_F(LateRanks, DistinguishesWaitingForData) {
  if (communicator_->size() < 2) return;
  const auto ranks = epoch(last() ? StepSleeps{.data_ms = 9} : StepSleeps{});
  if (!first()) return;
  ASSERT_EQ(ranks.stragglers.size(), 1u);
  EXPECT_EQ(ranks.stragglers[0].rank, communicator_->size() - 1);
  EXPECT_EQ(ranks.stragglers[0].cause, Lateness::data);
}

}  // namespace
}  // namespace dllaunch
