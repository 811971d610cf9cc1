#include "trainer/data/sampler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>

namespace dllaunch {
namespace {

TEST(Sampler, AnEpochVisitsEveryImageOnce) {
  for (const std::int64_t images : {0, 1, 2, 3, 10, 1000}) {
    auto order = epoch_order(1, 0, images);
    std::sort(order.begin(), order.end());
    for (std::int64_t i = 0; i < images; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  }
}

TEST(Sampler, TheOrderDependsOnSeedAndEpoch) {
  EXPECT_EQ(epoch_order(1, 0, 100), epoch_order(1, 0, 100));
  EXPECT_NE(epoch_order(1, 0, 100), epoch_order(1, 1, 100));
  EXPECT_NE(epoch_order(1, 0, 100), epoch_order(2, 0, 100));
  // Fixed values: another machine or compiler must not change the order.
  EXPECT_EQ(epoch_order(1, 0, 8), (std::vector<std::int64_t>{4, 6, 2, 1, 0, 7, 5, 3}));
}

/// Every image is equally likely at every position.
TEST(Sampler, TheOrderIsFair) {
  constexpr int images = 6;
  constexpr int epochs = 6000;
  std::vector<std::vector<int>> seen(images, std::vector<int>(images));
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const auto order = epoch_order(7, epoch, images);
    for (std::size_t p = 0; p < images; ++p) ++seen[p][static_cast<std::size_t>(order[p])];
  }
  for (const auto& row : seen) {
    for (const int count : row) EXPECT_NEAR(count, epochs / images, 150);  // five deviations
  }
}

struct Case {
  std::int64_t images;
  StepShape shape;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::int64_t images : {1, 2, 5, 7, 64, 100, 101, 255}) {
    for (const int ranks : {1, 2, 3, 4, 7}) {
      for (const int batch : {1, 3, 8}) {
        for (const int accumulate : {1, 2, 3}) all.push_back({images, {ranks, batch, accumulate}});
        all.push_back({images, {.ranks = ranks, .batch_size = batch, .images = 24}});
      }
    }
  }
  return all;
}

TEST(Sampler, StepsCoverEveryPositionOnceAtAnySize) {
  for (const auto& [images, shape] : cases()) {
    std::vector<int> seen(static_cast<std::size_t>(images));
    for (int rank = 0; rank < shape.ranks; ++rank) {
      for (const auto& slice : deal_epoch(images, shape, 0, rank)) {
        ASSERT_LE(slice.count, shape.batch_size);
        for (int i = 0; i < slice.count; ++i) ++seen[static_cast<std::size_t>(slice.begin + i)];
      }
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), images);
  }
}

TEST(Sampler, AStepHasTheNextPositionsRankByRankInEvenShares) {
  for (const auto& [images, shape] : cases()) {
    std::int64_t position = 0;
    for (std::int64_t k = 0; k < steps_per_epoch(images, shape); ++k) {
      std::int64_t next = position;
      std::int64_t least = images;
      std::int64_t most = 0;
      for (int rank = 0; rank < shape.ranks; ++rank) {
        std::int64_t share = 0;
        const auto slices = deal_step(images, shape, position, rank);
        ASSERT_GE(slices.size(), 1u);
        if (shape.images == 0) {
          ASSERT_LE(slices.size(), static_cast<std::size_t>(shape.accumulate));
        }
        for (const auto& slice : slices) {
          EXPECT_EQ(slice.begin, next);
          next += slice.count;
          share += slice.count;
        }
        least = std::min(least, share);
        most = std::max(most, share);
      }
      EXPECT_EQ(next - position, step_images(images, shape, position));
      EXPECT_LE(most - least, 1);
      position = next;
    }
    EXPECT_EQ(position, images);
  }
}

/// The micro-batches have the same images, plus empty ones at the end.
TEST(Sampler, InStepAllRanksHaveEquallyManyMicroBatches) {
  for (auto [images, shape] : cases()) {
    if (shape.images > 0) continue;  // they are cut otherwise: see below
    for (std::int64_t position = 0; position < images; position += shape.global_batch()) {
      std::size_t most = 0;
      for (int rank = 0; rank < shape.ranks; ++rank) {
        shape.in_step = false;
        most = std::max(most, deal_step(images, shape, position, rank).size());
      }
      for (int rank = 0; rank < shape.ranks; ++rank) {
        shape.in_step = false;
        const auto alone = deal_step(images, shape, position, rank);
        shape.in_step = true;
        const auto in_step = deal_step(images, shape, position, rank);
        ASSERT_EQ(in_step.size(), most);
        for (std::size_t i = 0; i < most; ++i) {
          EXPECT_EQ(in_step[i].count, i < alone.size() ? alone[i].count : 0);
          EXPECT_EQ(in_step[i].begin,
                    i < alone.size() ? alone[i].begin : alone.back().begin + alone.back().count);
        }
      }
    }
  }
}

TEST(Sampler, AnEpochContinuesWhereItStopped) {
  const StepShape shape{3, 4, 2};
  const auto whole = deal_epoch(100, shape, 0, 1);
  const auto rest = deal_epoch(100, shape, 2 * shape.global_batch(), 1);
  ASSERT_EQ(rest.size() + 4, whole.size());
  EXPECT_EQ(rest.front().begin, whole[4].begin);
  EXPECT_TRUE(deal_epoch(100, shape, 100, 1).empty());
}

/// A job resumed with other ranks, and thus other steps, sees exactly the remaining images.
TEST(Sampler, AnEpochContinuesOnAnotherNumberOfRanks) {
  for (const auto& [images, first] : cases()) {
    for (const auto& [unused, then] : cases()) {
      const std::int64_t stopped =
          std::min(images, steps_per_epoch(images, first) / 2 * first.global_batch());
      std::vector<int> seen(static_cast<std::size_t>(images));
      const auto see = [&](const StepShape& shape, std::int64_t from, std::int64_t to) {
        for (int rank = 0; rank < shape.ranks; ++rank) {
          for (const auto& slice : deal_epoch(images, shape, from, rank)) {
            for (std::int64_t at = slice.begin; at < slice.begin + slice.count; ++at) {
              if (at < to) ++seen[static_cast<std::size_t>(at)];
            }
          }
        }
      };
      see(first, 0, stopped);
      see(then, stopped, images);
      EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), images);
    }
  }
}

/// A step of the four ranks that a run began with, on the three that are left.
TEST(Sampler, AStepKeepsItsImagesOnFewerRanks) {
  const StepShape four{.ranks = 4, .batch_size = 8, .images = 32};
  const StepShape three{.ranks = 3, .batch_size = 8, .images = 32};
  EXPECT_EQ(steps_per_epoch(100, four), steps_per_epoch(100, three));
  EXPECT_EQ(deal_step(100, four, 32, 3).size(), 1u);
  std::vector<int> counts;
  for (int rank = 0; rank < 3; ++rank)
    for (const auto& slice : deal_step(100, three, 32, rank)) counts.push_back(slice.count);
  EXPECT_EQ(counts, (std::vector<int>{8, 2, 8, 3, 8, 3}));
  EXPECT_EQ(four.worth_ranks(), 4);
  EXPECT_EQ(three.worth_ranks(), 4);
}

/// Nodes are lost and given at any step: each image is dealt once an epoch, to the step, and with
/// `same_batches` to the micro-batch, that it would have had on all ranks.
TEST(Sampler, EveryImageIsDealtOnceAcrossChangesOfTheRanks) {
  std::mt19937 random(7);
  const auto below = [&random](int bound) { return static_cast<int>(random() % unsigned(bound)); };
  for (int round = 0; round < 300; ++round) {
    StepShape shape{.ranks = 4, .batch_size = 1 + below(9), .in_step = round % 3 == 0};
    shape.images = 1 + below(60);
    shape.same_batches = round % 3 == 1;
    const std::int64_t images = 1 + below(500);
    std::vector<int> seen(static_cast<std::size_t>(images));
    for (std::int64_t at = 0; at < images; at += shape.images) {
      std::multiset<std::pair<std::int64_t, int>> batches[2];
      for (const bool whole : {true, false}) {
        shape.ranks = whole ? 4 : 1 + below(6);
        const auto as_many = deal_step(images, shape, at, 0).size();
        for (int rank = 0; rank < shape.ranks; ++rank) {
          const auto slices = deal_step(images, shape, at, rank);
          if (shape.in_step) {
            ASSERT_EQ(slices.size(), as_many);
          }
          for (const auto& [begin, count] : slices) {
            ASSERT_LE(count, shape.batch_size);
            if (count > 0) batches[whole].emplace(begin, count);
            for (int i = 0; i < count && !whole; ++i) {
              ASSERT_GE(begin + i, at);
              ASSERT_LT(begin + i, at + shape.images);
              ++seen[static_cast<std::size_t>(begin + i)];
            }
          }
        }
      }
      if (shape.same_batches) {
        ASSERT_EQ(batches[false], batches[true]);
      }
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), images);
  }
}

TEST(Sampler, InStepTheMicroBatchesOfFewerRanksAreAlike) {
  const StepShape three{.ranks = 3, .batch_size = 8, .in_step = true, .images = 32};
  std::vector<int> counts;
  for (int rank = 0; rank < 3; ++rank)
    for (const auto& slice : deal_step(100, three, 0, rank)) counts.push_back(slice.count);
  EXPECT_EQ(counts, (std::vector<int>{6, 4, 6, 5, 6, 5}));
}

TEST(Sampler, ValidationTakesEveryImageOnce) {
  for (const auto& [images, shape] : cases()) {
    std::vector<int> seen(static_cast<std::size_t>(images));
    for (int rank = 0; rank < shape.ranks; ++rank) {
      for (const auto& slice : deal_validation(images, shape, rank)) {
        for (int i = 0; i < slice.count; ++i) ++seen[static_cast<std::size_t>(slice.begin + i)];
      }
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), images);
  }
}

/// Also where micro-batches are those of the step, and in a validation.
TEST(Sampler, InStepRanksHaveEquallyManyBatches) {
  for (const bool same_batches : {false, true}) {
    const StepShape shape{
        .ranks = 3, .batch_size = 8, .in_step = true, .images = 32, .same_batches = same_batches};
    for (const std::int64_t position : {0, 96}) {
      for (int rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(deal_step(100, shape, position, rank).size(),
                  deal_step(100, shape, position, 0).size());
      }
    }
    for (const std::int64_t images : {1, 16, 25, 26}) {
      for (int rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(deal_validation(images, shape, rank).size(),
                  deal_validation(images, shape, 0).size());
      }
    }
  }
}

TEST(Sampler, CountsBeyondThirtyTwoBits) {
  const std::int64_t images = std::int64_t{5} << 32;
  const StepShape shape{64, 1024, 1};
  const auto last = (steps_per_epoch(images, shape) - 1) * shape.global_batch();
  EXPECT_EQ(deal_step(images, shape, last, 63).front().begin, images - 1024);
  EXPECT_EQ(deal_validation(images, shape, 63).back().begin, images - 1024);
}

}  // namespace
}  // namespace dllaunch
