#include "runtime/gradients/bucket_tuner.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace dllaunch {
namespace {

struct Tuned {
  BucketTuner tuner;
  std::vector<int> tried;
  double elapsed_s = 0;
};

/// Steps of `seconds` for each candidate with noise up to `noise`; the first step takes three times
/// as long.
Tuned tune(const std::vector<double>& seconds, double noise = 0, TunerLimits limits = {}) {
  Tuned tuned{BucketTuner(static_cast<int>(seconds.size()), limits), {}, 0};
  std::mt19937 random(1);
  while (!tuned.tuner.done() && tuned.tried.size() < 1000) {
    const int trial = tuned.tuner.trial();
    double step = seconds[static_cast<std::size_t>(trial)];
    step *= 1 + noise * static_cast<double>(random() % 1000) / 1000;
    if (tuned.tried.empty()) step *= 3;
    tuned.elapsed_s += step;
    tuned.tried.push_back(trial);
    tuned.tuner.record(step, tuned.elapsed_s);
  }
  return tuned;
}

TEST(BucketTuner, TakesTheFastest) {
  const Tuned tuned = tune({0.050, 0.049, 0.041, 0.060, 0.044}, 0.03);
  EXPECT_TRUE(tuned.tuner.measured());
  EXPECT_EQ(tuned.tuner.choice(), 2);
  EXPECT_EQ(tuned.tuner.trial(), 2);
  EXPECT_NEAR(tuned.tuner.seconds_of(2), 0.041, 0.041 * 0.03);
  EXPECT_LE(tuned.elapsed_s, 2.1);
}

TEST(BucketTuner, KeepsTheDefaultUnlessAnotherSavesEnough) {
  EXPECT_EQ(tune({0.0100, 0.0099, 0.0105}).tuner.choice(), 0);
  EXPECT_TRUE(tune({0.0100, 0.0099, 0.0105}).tuner.measured());
  EXPECT_EQ(tune({0.0100, 0.0097, 0.0105}).tuner.choice(), 1);
}

TEST(BucketTuner, OneSlowStepDecidesNothing) {
  BucketTuner tuner(2);
  tuner.record(0.01, 0.01);
  tuner.record(0.01, 0.02);
  for (int step = 0; !tuner.done(); ++step) {
    const bool hiccup = step == 3;
    tuner.record(hiccup ? 1.0 : 0.010 - 0.001 * tuner.trial(), 0.02 + step * 0.01);
  }
  EXPECT_EQ(tuner.choice(), 1);
}

TEST(BucketTuner, StaysWithinTwoSecondsForAnyStepTime) {
  for (const double step : {0.0001, 0.001, 0.01, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 30.0}) {
    const Tuned tuned = tune({step, step * 0.9, step * 0.8, step * 0.7, step * 0.6});
    // The first steps alone may take longer.
    EXPECT_LE(tuned.elapsed_s, std::max(2.0 + step, step * 4)) << step;
    EXPECT_TRUE(tuned.tuner.done());
    if (step <= 0.1) {
      EXPECT_TRUE(tuned.tuner.measured()) << step;
      EXPECT_GT(tuned.tuner.choice(), 0) << step;
    }
    EXPECT_TRUE(tuned.tuner.measured() || tuned.tuner.choice() == 0) << step;
  }
}

TEST(BucketTuner, TriesEachEquallyOftenInTurn) {
  const Tuned tuned = tune({0.01, 0.02, 0.03});
  ASSERT_EQ(tuned.tried.size(), 2u + 5 * 3);
  for (std::size_t i = 2; i < tuned.tried.size(); ++i) {
    EXPECT_EQ(tuned.tried[i], static_cast<int>((i - 2) % 3));
  }
}

TEST(BucketTuner, HasNothingToDoWithOneCandidate) {
  EXPECT_TRUE(BucketTuner(1).done());
  EXPECT_FALSE(BucketTuner(1).measured());
  EXPECT_EQ(BucketTuner(1).choice(), 0);
}

}  // namespace
}  // namespace dllaunch
