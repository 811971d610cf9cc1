#include "trainer/reports/stragglers.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace dllaunch {
namespace {

/// An epoch of `steps` steps whose parts vary independently by a relative `noise`.
RankSeconds epoch_of(std::mt19937& random, int steps, const RankSeconds& step, double noise) {
  std::normal_distribution<double> vary(1.0, noise);
  RankSeconds sum;
  for (int i = 0; i < steps; ++i) {
    const double factor = vary(random);
    const double data = step.data * vary(random);
    const double between = step.between * vary(random);
    sum.steps += 1;
    sum.data += data;
    sum.forward += step.forward * factor;
    sum.backward += step.backward * factor;
    sum.update += step.update * factor;
    sum.between += between;
    const double compute = step.compute() * factor;
    sum.squares[0] += data * data;
    sum.squares[1] += compute * compute;
    sum.squares[2] += between * between;
  }
  return sum;
}

const RankSeconds usual{
    .data = 0.001, .forward = 0.03, .backward = 0.06, .update = 0.009, .between = 0.0005};

std::vector<RankSeconds> equal_ranks(std::size_t count, int steps, double noise, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<RankSeconds> ranks;
  for (std::size_t i = 0; i < count; ++i) ranks.push_back(epoch_of(random, steps, usual, noise));
  return ranks;
}

TEST(Stragglers, EqualRanksAreQuietHoweverNoisyTheirSteps) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    for (const std::size_t count : {2, 3, 4, 16, 100}) {
      for (const double noise : {0.01, 0.1, 0.3}) {
        const auto found = find_stragglers(equal_ranks(count, 8 + seed, noise, seed));
        EXPECT_TRUE(found.empty()) << count << " ranks, noise " << noise << ", seed " << seed;
      }
    }
  }
}

TEST(Stragglers, OneAmongAnyNumberIsNamedWithItsCause) {
  for (const std::size_t count : {2, 3, 4, 7, 64}) {
    auto ranks = equal_ranks(count, 100, 0.1, 1);
    std::mt19937 random(2);
    RankSeconds slow = usual;
    slow.backward *= 1.5;
    ranks[1] = epoch_of(random, 100, slow, 0.1);
    const auto found = find_stragglers(ranks);
    ASSERT_EQ(found.size(), 1u) << count;
    EXPECT_EQ(found[0].rank, 1);
    EXPECT_EQ(found[0].cause, Lateness::compute);
    EXPECT_EQ(found[0].phase, RankPhase::backward);
    EXPECT_NEAR(found[0].seconds / found[0].median, 1.3, 0.08);

    RankSeconds starved = usual;
    starved.data = 0.02;
    ranks[1] = epoch_of(random, 100, starved, 0.1);
    const auto data = find_stragglers(ranks);
    ASSERT_EQ(data.size(), 1u) << count;
    EXPECT_EQ(data[0].rank, 1);
    EXPECT_EQ(data[0].cause, Lateness::data);
  }
}

TEST(Stragglers, WorstFirstAndEachOnce) {
  auto ranks = equal_ranks(16, 100, 0.02, 3);
  std::mt19937 random(4);
  RankSeconds slow = usual;
  slow.forward *= 2;
  ranks[3] = epoch_of(random, 100, slow, 0.02);
  slow.forward *= 2;
  slow.data = 0.02;  // late in both: the larger one is reported
  ranks[9] = epoch_of(random, 100, slow, 0.02);
  const auto found = find_stragglers(ranks);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].rank, 9);
  EXPECT_EQ(found[0].cause, Lateness::compute);
  EXPECT_EQ(found[0].phase, RankPhase::forward);
  EXPECT_EQ(found[1].rank, 3);
}

TEST(Stragglers, ASingleSlowStepIsIgnored) {
  auto ranks = equal_ranks(2, 50, 0.02, 5);
  const double hiccup = 3;  // seconds, of about 5
  ranks[1].backward += hiccup;
  ranks[1].squares[1] += hiccup * hiccup;
  EXPECT_TRUE(find_stragglers(ranks).empty());
}

TEST(Stragglers, SmallDelaysAndShortEpochsAreIgnored) {
  auto ranks = equal_ranks(4, 100, 0.001, 6);
  std::mt19937 random(7);
  RankSeconds slow = usual;
  slow.backward *= 1.05;  // 3 % of the epoch
  ranks[2] = epoch_of(random, 100, slow, 0.001);
  EXPECT_TRUE(find_stragglers(ranks).empty());
  slow.backward *= 3;
  ranks[2] = epoch_of(random, 100, slow, 0.001);
  EXPECT_EQ(find_stragglers(ranks).size(), 1u);

  auto few = equal_ranks(4, 7, 0.001, 8);
  few[2] = epoch_of(random, 7, slow, 0.001);
  EXPECT_TRUE(find_stragglers(few).empty());
  EXPECT_TRUE(find_stragglers({}).empty());
  EXPECT_TRUE(find_stragglers(equal_ranks(1, 100, 0.1, 9)).empty());
}

/// Two stages of three ranks, of which the second computes 1.5 times as long.
std::vector<RankSeconds> two_stages(std::mt19937& random) {
  auto ranks = equal_ranks(6, 100, 0.1, 10);
  RankSeconds deep = usual;
  deep.forward *= 1.5;
  deep.backward *= 1.5;
  deep.update *= 1.5;
  for (std::size_t rank = 3; rank < 6; ++rank) ranks[rank] = epoch_of(random, 100, deep, 0.1);
  return ranks;
}
const std::vector<int> stages_of_six = {0, 0, 0, 1, 1, 1};

TEST(Stragglers, RanksAreComparedWithTheirOwnStageOnly) {
  std::mt19937 random(11);
  auto ranks = two_stages(random);
  EXPECT_TRUE(find_stragglers(ranks, stages_of_six).empty());
  RankSeconds slow = usual;
  slow.forward *= 2.5;  // no more than what is usual in the other stage
  ranks[1] = epoch_of(random, 100, slow, 0.1);
  const auto found = find_stragglers(ranks, stages_of_six);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rank, 1);
  EXPECT_EQ(found[0].phase, RankPhase::forward);
  // A stage of one rank has nothing to compare with.
  const std::vector<int> alone = {0, 1, 2, 3, 4, 5};
  EXPECT_TRUE(find_stragglers(ranks, alone).empty());
}

TEST(Stragglers, ASlowStageIsReportedAsSuch) {
  std::mt19937 random(12);
  auto ranks = two_stages(random);
  const double bubble = 5;  // seconds
  for (std::size_t rank = 0; rank < 3; ++rank) ranks[rank].pipeline = bubble;
  const auto slow = find_slow_stage(ranks, stages_of_six);
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->stage, 1);
  EXPECT_EQ(slow->stages, 2);
  EXPECT_NEAR(slow->ratio, 1.5, 0.1);
  EXPECT_NEAR(slow->waiting, 0.33, 0.05);

  EXPECT_FALSE(find_slow_stage(ranks, {})) << "one stage";
  EXPECT_FALSE(find_slow_stage(equal_ranks(6, 100, 0.1, 13), stages_of_six));
  EXPECT_FALSE(find_slow_stage({}, {}));
  for (auto& rank : ranks) rank.steps = 7;
  EXPECT_FALSE(find_slow_stage(ranks, stages_of_six)) << "a short epoch";
}

TEST(Stragglers, TheLineOfASlowStageSaysWhatToDo) {
  EpochRanks epoch;
  epoch.slow_stage = {.stage = 1, .stages = 2, .ratio = 1.31, .waiting = 0.24};
  EXPECT_EQ(straggler_lines(epoch, 3),
            (std::vector<std::string>{
                "stage 2 of 2 computes 1.31 x the time of stage 1: the others wait 24 % of the "
                "epoch for it; runtime.pipeline.cut moves work to them"}));
  epoch.slow_stage = {.stage = 0, .stages = 4, .ratio = 2, .waiting = 0.4};
  EXPECT_TRUE(straggler_lines(epoch, 3)[0].starts_with(
      "stage 1 of 4 computes 2.00 x the mean time of the other stages: "));
}

TEST(Stragglers, LinesNameRankHostAndWhatItCosts) {
  EpochRanks epoch;
  for (int rank = 0; rank < 4; ++rank) {
    epoch.ranks.push_back({.steps = 100, .data = 1, .forward = 30, .backward = 69});
    epoch.hosts.push_back(rank < 2 ? "n0" : "n1");
  }
  epoch.stragglers = {
      {.rank = 3, .seconds = 131, .median = 100, .delayed = 12},
      {.rank = 1, .cause = Lateness::data, .seconds = 20, .median = 1, .delayed = 3},
      {.rank = 0, .cause = Lateness::between, .seconds = 9, .median = 0.4, .delayed = 1}};
  EXPECT_EQ(straggler_lines(epoch, 3),
            (std::vector<std::string>{
                "rank 3 on n1: computes 1.31 x the median (backward); others waited up to 12 % of "
                "the epoch for it",
                "rank 1 on n0: waits for data 20 % of the epoch (median 1 %); others waited up to "
                "3 % of the epoch for it",
                "rank 0 on n0: spends 9 % of the epoch between steps (median 0 %); others waited "
                "up to 1 % of the epoch for it"}));
  EXPECT_EQ(straggler_lines(epoch, 1).back(), "2 more ranks are late: see `ranks` in events.jsonl");
  epoch.stragglers.clear();
  EXPECT_TRUE(straggler_lines(epoch, 3).empty());
}

}  // namespace
}  // namespace dllaunch
