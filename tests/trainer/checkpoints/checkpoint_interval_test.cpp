#include "trainer/checkpoints/checkpoint_interval.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

/// Seconds lost a second: saving, and on average half an interval with each failure.
double lost(double interval_s, double save_s, double mtbf_s) {
  return save_s / interval_s + interval_s / 2 / mtbf_s;
}

TEST(CheckpointInterval, MinimisesTheLoss) {
  for (const double save_s : {0.01, 0.5, 30.0}) {
    for (const double mtbf_s : {600.0, 86400.0, 3.6e6}) {
      const double best = best_interval_s(save_s, mtbf_s);
      for (const double factor : {0.5, 0.9, 0.99, 1.01, 1.1, 2.0}) {
        EXPECT_LT(lost(best, save_s, mtbf_s), lost(factor * best, save_s, mtbf_s));
      }
    }
  }
  EXPECT_DOUBLE_EQ(best_interval_s(0.5, 3600), 60);
}

TEST(CheckpointInterval, IsNeverShorterThanASave) {
  EXPECT_EQ(best_interval_s(100, 1), 100);
}

TEST(CheckpointInterval, ShrinksWithTheNumberOfNodes) {
  EXPECT_EQ(job_mtbf_s({}, 1), 3.6e6);
  EXPECT_EQ(job_mtbf_s({}, 100), 3.6e4);
  EXPECT_EQ(job_mtbf_s({}, 0), 3.6e6);
  EXPECT_EQ(job_mtbf_s(2.5, 100), 9000);
}

TEST(CheckpointInterval, RendersAsText) {
  EXPECT_EQ(render_interval(1897, 0.5, 3.6e6),
            "checkpoints every 32 min from now on: one takes 0.5 s, a failure is expected every "
            "1000 h (Young/Daly)");
  EXPECT_EQ(render_interval(12.4, 0.0123, 6000),
            "checkpoints every 12 s from now on: one takes 0.012 s, a failure is expected every "
            "100 min (Young/Daly)");
}

}  // namespace
}  // namespace dllaunch
