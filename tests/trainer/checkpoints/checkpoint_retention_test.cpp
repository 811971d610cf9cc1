#include "trainer/checkpoints/checkpoint_retention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "tests/trainer/checkpoints/sound_checkpoint.hpp"
#include "tests/trainer/scratch_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

class CheckpointRetention : public testing::Test {
 protected:
  WrittenCheckpoint save(std::int64_t step, std::map<std::string, double> metrics,
                         const Retention& retention) {
    Checkpoint checkpoint = sound_checkpoint(step);
    checkpoint.metrics = std::move(metrics);
    auto written = write_checkpoint(folder_.path(), std::move(checkpoint), retention);
    EXPECT_TRUE(written) << written.error().what;
    return written ? *written : WrittenCheckpoint{};
  }
  std::set<std::int64_t> steps() const {
    std::set<std::int64_t> found;
    for (const auto& path : list_checkpoints(folder_.path())) {
      found.insert(std::stoll(path.filename().string().substr(5)));
    }
    return found;
  }
  std::string linked() const { return fs::read_symlink(folder_ / "best").string(); }

  const ScratchFolder folder_;
};

TEST_F(CheckpointRetention, KeepsTheBestBeyondTheNewest) {
  const Retention two{.keep = 2, .best = "val_accuracy"};
  EXPECT_TRUE(save(1, {{"val_accuracy", 0.5}}, two).best);
  EXPECT_TRUE(save(2, {{"val_accuracy", 0.9}}, two).best);
  for (const int step : {3, 4, 5}) EXPECT_FALSE(save(step, {{"val_accuracy", 0.8}}, two).best);
  EXPECT_EQ(steps(), (std::set<std::int64_t>{2, 4, 5}));
  EXPECT_EQ(linked(), "step-00000002");
  EXPECT_TRUE(read_checkpoint(folder_ / "best"));
  EXPECT_TRUE(save(6, {{"val_accuracy", 0.95}}, two).best);
  EXPECT_EQ(steps(), (std::set<std::int64_t>{5, 6}));
  EXPECT_EQ(linked(), "step-00000006");
}

TEST_F(CheckpointRetention, TheLowestLossIsBestAndTheFirstOfEquals) {
  const Retention one{.keep = 1, .best = "val_loss"};
  for (const auto& [step, loss] : {std::pair(1, 2.0), {2, 1.0}, {3, 1.0}, {4, 3.0}}) {
    save(step, {{"val_loss", loss}}, one);
  }
  EXPECT_EQ(steps(), (std::set<std::int64_t>{2, 4}));
}

TEST_F(CheckpointRetention, OneWithoutTheMetricIsNeverTheBest) {
  const Retention one{.keep = 1, .best = "val_f1_macro"};
  EXPECT_FALSE(save(1, {}, one).best);
  EXPECT_FALSE(save(2, {{"val_loss", 1}}, one).best);
  EXPECT_EQ(steps(), std::set<std::int64_t>{2});
  EXPECT_FALSE(fs::exists(fs::symlink_status(folder_ / "best")));
  EXPECT_TRUE(save(3, {{"val_f1_macro", 0}}, one).best);
}

TEST_F(CheckpointRetention, IgnoresDamagedOnesAndAbandonedContinuations) {
  const Retention three{.keep = 3, .best = "val_accuracy"};
  save(1, {{"val_accuracy", 0.9}}, three);
  save(2, {{"val_accuracy", 0.5}}, three);
  save(30, {{"val_accuracy", 0.99}}, three);
  write_text(folder_ / "step-00000001" / "state.json", "{}");
  EXPECT_FALSE(save(3, {{"val_accuracy", 0.4}}, three).best);
  EXPECT_EQ(linked(), "step-00000002");
  EXPECT_TRUE(steps().contains(30));
}

TEST_F(CheckpointRetention, KeepsTheNewestAndTheBestOfAnySeries) {
  std::mt19937 random(3);
  const Retention retention{.keep = 3, .best = "val_loss"};
  double best = std::numeric_limits<double>::infinity();
  std::int64_t best_step = 0;
  for (std::int64_t step = 1; step <= 40; ++step) {
    const double loss = static_cast<double>(random() % 12);
    if (loss < best) {
      best = loss;
      best_step = step;
    }
    EXPECT_EQ(save(step, {{"val_loss", loss}}, retention).best, best_step == step);
    std::set<std::int64_t> expected{best_step};
    for (std::int64_t i = std::max<std::int64_t>(1, step - 2); i <= step; ++i) expected.insert(i);
    ASSERT_EQ(steps(), expected);
    const auto found =
        find_best_checkpoint(folder_.path(), "val_loss", list_checkpoints(folder_.path())[0]);
    EXPECT_EQ(found->value, best);
  }
}

TEST_F(CheckpointRetention, NaNIsNeverBetter) {
  const double nan = std::nan("");
  for (const auto& metric : checkpoint_metrics()) {
    EXPECT_EQ(is_better(metric.name, 1, 2), metric.falls);
    EXPECT_EQ(is_better(metric.name, 2, 1), !metric.falls);
    EXPECT_FALSE(is_better(metric.name, nan, 1));
    EXPECT_FALSE(is_better(metric.name, 1, 1));
  }
}

}  // namespace
}  // namespace dllaunch
