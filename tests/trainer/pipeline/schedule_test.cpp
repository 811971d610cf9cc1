#include "trainer/pipeline/schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace dllaunch {
namespace {

StagePlace stage_of(int stage, int stages) {
  return {.stages = stages, .stage = stage};
}

/// "F0 F1 B0".
std::string words(const std::vector<Pass>& passes) {
  std::string all;
  for (const Pass& pass : passes) {
    if (!all.empty()) all += ' ';
    all += (pass.forward ? 'F' : 'B') + std::to_string(pass.micro_batch);
  }
  return all;
}

TEST(Schedule, OneStageRunsEachForwardThenBackward) {
  EXPECT_EQ(words(one_forward_one_backward(stage_of(0, 1), 3)), "F0 B0 F1 B1 F2 B2");
}

TEST(Schedule, AnEarlierStageIsAhead) {
  EXPECT_EQ(words(one_forward_one_backward(stage_of(0, 3), 4)), "F0 F1 F2 B0 F3 B1 B2 B3");
  EXPECT_EQ(words(one_forward_one_backward(stage_of(1, 3), 4)), "F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(words(one_forward_one_backward(stage_of(2, 3), 4)), "F0 B0 F1 B1 F2 B2 F3 B3");
  EXPECT_EQ(words(one_forward_one_backward(stage_of(0, 3), 1)), "F0 B0");
}

/// Plays all stages with passes of one length; no stage may wait for ever, and no more than
/// most_in_flight() may be in flight.
int steps_of(int stages, int micro_batches) {
  std::vector<std::vector<Pass>> todo;
  std::vector<std::size_t> next(static_cast<std::size_t>(stages), 0);
  for (int s = 0; s < stages; ++s) {
    todo.push_back(one_forward_one_backward(stage_of(s, stages), micro_batches));
  }
  std::vector<int> forward(next.size(), 0);  // micro-batches done
  std::vector<int> backward(next.size(), 0);
  for (int time = 0;; ++time) {
    const auto forward_before = forward;
    const auto backward_before = backward;
    bool moved = false;
    bool over = true;
    for (std::size_t s = 0; s < next.size(); ++s) {
      if (next[s] == todo[s].size()) continue;
      over = false;
      const Pass pass = todo[s][next[s]];
      const bool ready = pass.forward
                             ? s == 0 || forward_before[s - 1] > pass.micro_batch
                             : s + 1 == next.size() || backward_before[s + 1] > pass.micro_batch;
      if (!ready) continue;
      (pass.forward ? forward : backward)[s] += 1;
      EXPECT_LE(forward[s] - backward[s],
                most_in_flight(stage_of(static_cast<int>(s), stages), micro_batches));
      ++next[s];
      moved = true;
    }
    if (over) return time;
    if (!moved) return -1;
  }
}

TEST(Schedule, WaitsNoLongerThanStagesFillAndEmpty) {
  for (int stages = 1; stages <= 6; ++stages) {
    for (int micro_batches = 1; micro_batches <= 12; ++micro_batches) {
      const int steps = steps_of(stages, micro_batches);
      ASSERT_EQ(steps, 2 * (micro_batches + stages - 1)) << stages << ' ' << micro_batches;
    }
  }
}

TEST(Place, ConsecutiveRanksAreReplicas) {
  const StagePlace place = place_in_pipeline(3, 6, 3);
  EXPECT_EQ(place.replicas, 2);
  EXPECT_EQ(place.stage, 1);
  EXPECT_EQ(place.replica, 1);
  EXPECT_EQ(place.rank_of(2), 5);
  EXPECT_TRUE(place_in_pipeline(5, 6, 3).is_last());
  EXPECT_TRUE(place_in_pipeline(1, 6, 3).is_first());
}

}  // namespace
}  // namespace dllaunch
