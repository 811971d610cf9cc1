// Complete trainings with each optimiser.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/trainer/backends/usable_backends.hpp"
#include "tests/trainer/training/small_training.hpp"

namespace dllaunch {
namespace {

/// Uses every state, and a rate that changes in each step.
TrainConfig config_of(const OptimizerEntry& entry, std::string_view backend) {
  TrainConfig config = small_config(std::string(backend));
  config.optimizer = std::string(entry.name);
  config.optimizer_options = entry.defaults;
  config.optimizer_options.weight_decay = 1e-3;
  config.optimizer_options.center_epoch = 1;
  config.optimizer_options.period_epochs = 1;
  if (entry.name == "sgd") config.optimizer_options.momentum = 0.9;
  if (entry.name == "lars") {
    config.optimizer_options.lr = 0.3;
    config.optimizer_options.trust_coefficient = 0.02;
    config.optimizer_options.momentum_correction = true;
  }
  if (entry.name == "rmsprop") {
    config.optimizer_options.lr = 1e-3;
    config.optimizer_options.momentum = 0.5;
    config.optimizer_options.centered = true;
  }
  if (entry.name == "rmsprop-warmup") config.optimizer_options.lr = 0.02;
  if (entry.name == "lamb") config.optimizer_options.lr = 0.02;
  config.epochs = 3;
  config.schedule = {.warmup_epochs = 0.5, .warmup_lr = 0, .decay = "cosine", .epochs = 4};
  return config;
}

class TrainedWith : public testing::TestWithParam<std::tuple<OptimizerEntry, BackendEntry>> {
 protected:
  void SetUp() override {
    auto opened = std::get<BackendEntry>(GetParam()).open();
    if (!opened) GTEST_SKIP() << opened.error().what;
  }
  TrainConfig config() const {
    const auto& [optimizer, backend] = GetParam();
    return config_of(optimizer, backend.name);
  }
  const ScratchFolder folder_;
};

TEST_P(TrainedWith, LearnsAndResumesToTheLastBit) {
  auto whole = train_alone(config(), folder_ / "whole");
  ASSERT_TRUE(whole) << whole.error().what;
  ASSERT_EQ(whole->losses.size(), 21u);
  const auto mean = [&](std::ptrdiff_t epoch) {
    const auto begin = whole->losses.begin() + 7 * epoch;
    return std::accumulate(begin, begin + 7, 0.0) / 7;
  };
  EXPECT_LT(mean(2), 0.95 * mean(0));
  for (const std::size_t stop_after : {1, 10}) {
    const auto run_dir = folder_ / ("parts" + std::to_string(stop_after));
    auto one = train_alone(config(), run_dir, stop_after);
    ASSERT_TRUE(one);
    ASSERT_EQ(one->losses.size(), stop_after);
    auto two = train_alone(config(), run_dir);
    ASSERT_TRUE(two);
    one->losses.insert(one->losses.end(), two->losses.begin(), two->losses.end());
    EXPECT_EQ(one->losses, whole->losses);
    EXPECT_EQ(weights_at(run_dir, "step-00000021"), weights_at(folder_ / "whole", "step-00000021"));
  }
}

/// A gradient that comes a step late is applied with its own step's rate and count.
TEST_P(TrainedWith, ResumesWithLateGradientsToo) {
  auto late = config();
  late.runtime.gradient_lag = 1;
  late.epochs = 2;
  late.checkpoint.every_epochs = 1;
  auto whole = train_alone(late, folder_ / "whole");
  ASSERT_TRUE(whole) << whole.error().what;
  late.epochs = 1;
  auto one = train_alone(late, folder_ / "parts");
  late.epochs = 2;
  auto two = train_alone(late, folder_ / "parts");
  ASSERT_TRUE(one && two);
  EXPECT_EQ(weights_at(folder_ / "parts", "step-00000014"),
            weights_at(folder_ / "whole", "step-00000014"));
}

/// With the correction, momentum with the rate inside equals momentum with the rate outside, which
/// does not depend on the previous rate: also if the rate changes between two processes.
TEST(Resume, MomentumIsCorrectedForTheRateBeforeTheResume) {
  const ScratchFolder folder;
  std::vector<double> losses[2];
  for (const bool inside : {false, true}) {
    TrainConfig config = config_of(*find_optimizer("lars"), "reference");
    config.precision = Precision::fp64;
    config.schedule = {};
    config.optimizer_options.lr_in_momentum = inside;
    config.optimizer_options.momentum_correction = inside;
    const auto run_dir = folder / (inside ? "inside" : "outside");
    config.epochs = 1;
    ASSERT_TRUE(train_alone(config, run_dir));
    config.epochs = 2;
    config.optimizer_options.lr *= 0.25;
    const auto resumed = train_alone(config, run_dir);
    ASSERT_TRUE(resumed) << resumed.error().what;
    losses[inside ? 1 : 0] = resumed->losses;
  }
  ASSERT_EQ(losses[0].size(), 7u);
  ASSERT_EQ(losses[1].size(), 7u);
  for (std::size_t i = 0; i < 7; ++i) EXPECT_NEAR(losses[1][i], losses[0][i], 1e-9) << i;
}

std::vector<OptimizerEntry> every_optimizer() {
  return {optimizers().begin(), optimizers().end()};
}

std::string name_of_case(
    const testing::TestParamInfo<std::tuple<OptimizerEntry, BackendEntry>>& tested) {
  std::string name = std::string(std::get<OptimizerEntry>(tested.param).name) + "_" +
                     std::string(std::get<BackendEntry>(tested.param).name);
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Optimizers, TrainedWith,
                         testing::Combine(testing::ValuesIn(every_optimizer()),
                                          testing::ValuesIn(usable_backends())),
                         name_of_case);

}  // namespace
}  // namespace dllaunch
