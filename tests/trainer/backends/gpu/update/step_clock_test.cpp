#include "trainer/backends/gpu/update/step_clock.hpp"

#include <gtest/gtest.h>

namespace dllaunch::gpu {
namespace {

void pass(float ms) {
  host_gpus().clock_ms += ms;
}

void step(StepClock& clock, float forward, float backward, float wait, float update) {
  clock.forward_begins();
  pass(forward);
  pass(backward);
  clock.backward_ended();
  pass(wait);
  clock.update_begins();
  pass(update);
  clock.update_ended();
}

TEST(StepClock, TellsStepsAndTheGapsBetweenThem) {
  StepClock clock;
  EXPECT_EQ(clock.take().steps, 0);
  for (int number = 0; number < 11; ++number) {
    step(clock, 1, 2, 4, 8);
    pass(16);
  }
  const StepTimes times = clock.take();
  EXPECT_EQ(times.steps, 11);
  EXPECT_NEAR(times.busy_s, 11 * 15e-3, 1e-9);
  EXPECT_NEAR(times.exposed_s, 11 * 4e-3, 1e-9);
  EXPECT_EQ(times.gaps, 10);
  EXPECT_NEAR(times.idle_s, 10 * 16e-3, 1e-9);
}

/// Time around take() (validation, checkpoints) counts as no gap.
TEST(StepClock, BeginsAnewWithEachTake) {
  StepClock clock;
  step(clock, 1, 1, 1, 1);
  EXPECT_EQ(clock.take().steps, 1);
  pass(1000);
  step(clock, 1, 1, 1, 1);
  const StepTimes times = clock.take();
  EXPECT_EQ(times.steps, 1);
  EXPECT_EQ(times.gaps, 0);
  EXPECT_EQ(times.idle_s, 0);
}

/// An update may consist of several parts; the end of the last one counts.
TEST(StepClock, AnUpdateMayHaveParts) {
  StepClock clock;
  clock.forward_begins();
  pass(1);
  clock.backward_ended();
  pass(2);
  for (int part = 0; part < 3; ++part) {
    clock.update_begins();
    pass(4);
    clock.update_ended();
  }
  const StepTimes times = clock.take();
  EXPECT_NEAR(times.busy_s, 15e-3, 1e-9);
  EXPECT_NEAR(times.exposed_s, 2e-3, 1e-9);
}

/// Does not count evaluations and updates on the host.
TEST(StepClock, CountsOnlyWhatIsAStep) {
  StepClock clock;
  clock.update_begins();
  clock.update_ended();
  clock.backward_ended();
  EXPECT_EQ(clock.take().steps, 0);
  clock.forward_begins();
  pass(1);
  clock.backward_ended();
  EXPECT_EQ(clock.take().steps, 0);
  step(clock, 1, 1, 1, 1);
  EXPECT_NEAR(clock.take().busy_s, 4e-3, 1e-9) << "what was begun before belongs to nothing";
}

}  // namespace
}  // namespace dllaunch::gpu
