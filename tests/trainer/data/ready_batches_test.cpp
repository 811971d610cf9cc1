#include "trainer/data/ready_batches.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30;

TEST(ReadyBatches, AreTwoPerWorkerWhereMemoryIsPlenty) {
  for (const auto& [workers, ready] : {std::pair{0, 1}, {1, 3}, {2, 4}, {15, 30}}) {
    const auto found =
        ready_batches({.workers = workers, .batch_size = 256, .image_bytes = 602'112});
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, static_cast<std::size_t>(ready)) << workers;
  }
}

TEST(ReadyBatches, TakeHalfOfTheMemoryAtMostButOneFits) {
  BatchMemory memory{.workers = 2, .batch_size = 10, .image_bytes = 100};
  for (const auto& [left, ready] :
       {std::pair{1000, 1}, {1999, 1}, {3999, 1}, {4000, 2}, {6000, 3}, {8000, 4}, {20000, 4}}) {
    memory.left = left;
    const auto found = ready_batches(memory);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, static_cast<std::size_t>(ready)) << left;
  }
  memory.workers = 0;
  EXPECT_EQ(*ready_batches(memory), 1u);
}

TEST(ReadyBatches, WithoutRoomForOneSaysWhatWouldFit) {
  BatchMemory memory{.workers = 2, .batch_size = 20'000, .image_bytes = 602'116, .left = 8 * gib};
  const auto refused = ready_batches(memory);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(refused.error().what,
            "a batch of 20000 images needs 11.22 GiB of the host's memory, and 8.00 GiB are left "
            "for this rank");
  EXPECT_EQ(refused.error().hint, "batch_size 14266 would fit");
  memory.batch_size = 14'266;
  EXPECT_EQ(*ready_batches(memory), 1u);
  memory.batch_size = 14'267;
  EXPECT_FALSE(ready_batches(memory));
  for (const std::int64_t none : {std::int64_t{0}, std::int64_t{-1}}) {
    memory.left = none;
    EXPECT_EQ(ready_batches(memory).error().hint, "ask for more memory, or fewer ranks per node");
  }
}

}  // namespace
}  // namespace dllaunch
