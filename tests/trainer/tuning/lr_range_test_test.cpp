#include "trainer/tuning/lr_range_test.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <cmath>

#include "runtime/communicators/opening/communicators.hpp"
#include "tests/trainer/training/small_training.hpp"
#include "trainer/graph/layer_list.hpp"
#include "trainer/training/prepare.hpp"

namespace dllaunch {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(LrRangeTest, RatesGrowByAConstantFactor) {
  const LrRangeTest test{.lowest_rate = 1e-4, .highest_rate = 1, .steps = 5};
  EXPECT_DOUBLE_EQ(test_rate(test, 0), 1e-4);
  EXPECT_NEAR(test_rate(test, 2), 1e-2, 1e-12);
  EXPECT_NEAR(test_rate(test, 4), 1, 1e-12);
}

/// Losses of a training that learns best at `best` and diverges above.
std::vector<RateTrial> trials_with_lowest_at(double best) {
  const LrRangeTest test;
  std::vector<RateTrial> trials;
  for (int i = 0; i < test.steps; ++i) {
    const double rate = test_rate(test, i);
    const double decades = std::log10(rate / best);
    const double loss = decades < 0 ? 2 - std::exp(2 * decades) : 1 + 30 * decades;
    if (!add_trial(trials, rate, loss)) break;
  }
  return trials;
}

TEST(LrRangeTest, ChoosesTheSteepestFallIfImagesAreMemorised) {
  const LrRangeTest test;
  std::vector<RateTrial> trials;
  for (int i = 0; i < test.steps; ++i) {
    const double rate = test_rate(test, i);
    add_trial(trials, rate, 2 / (1 + std::pow(rate / 0.01, 2)));  // halves at 0.01, never rises
  }
  EXPECT_NEAR(std::log10(*choose_rate(trials)), -2, 0.5);
}

TEST(LrRangeTest, ChoosesATenthOfTheRateWithTheLowestLoss) {
  for (const double best : {1e-3, 0.05, 1.0}) {
    const auto trials = trials_with_lowest_at(best);
    EXPECT_LT(trials.size(), 100u) << "it continues after the loss has exploded";
    const auto chosen = choose_rate(trials);
    ASSERT_TRUE(chosen);
    // The moving mean lags by some steps of a fourteenth of a decade.
    EXPECT_NEAR(std::log10(*chosen), std::log10(best / 10), 0.3);
    EXPECT_NEAR(*chosen, std::stod(fmt::format("{:.1e}", *chosen)), 1e-12) << "two digits";
  }
}

TEST(LrRangeTest, EndsWithANonFiniteLoss) {
  std::vector<RateTrial> trials;
  EXPECT_TRUE(add_trial(trials, 1, 2.0));
  EXPECT_FALSE(add_trial(trials, 2, std::nan("")));
  EXPECT_FALSE(add_trial(trials, 2, INFINITY));
  EXPECT_EQ(trials.size(), 1u);
}

TEST(LrRangeTest, ALossThatNeverFallsGivesNoRate) {
  std::vector<RateTrial> trials;
  EXPECT_EQ(choose_rate(trials), std::nullopt);
  for (int i = 0; i < 50; ++i) add_trial(trials, i + 1, 2 + 0.001 * i);
  EXPECT_EQ(choose_rate(trials), std::nullopt);
}

TEST(LrRangeTest, TheTableIsShortAndShowsTheLowest) {
  const auto trials = trials_with_lowest_at(0.1);
  const auto lines = rate_table(trials, 0.012);
  EXPECT_LT(lines.size(), 22u);
  EXPECT_THAT(lines, Contains(HasSubstr("  lowest")));
  EXPECT_THAT(lines.back(), HasSubstr("optimizer.lr 0.012"));
}

class AutoChoices : public testing::Test {
 protected:
  static TrainConfig with_auto_rate() {
    TrainConfig config = small_config("reference");
    config.find.lr = true;
    config.settings = {{"optimizer.lr", "auto"}};
    return config;
  }
  static double rate_in(const std::filesystem::path& run_dir) {
    return Json::parse(read_text(run_dir / "choices.json"))["optimizer.lr"];
  }
  ScratchFolder folder_;
};

TEST_F(AutoChoices, TrainLikeWithAGivenRate) {
  const auto found = train_alone(with_auto_rate(), folder_ / "auto");
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_LT(found->losses.back(), found->losses.front());
  TrainConfig given = small_config("reference");
  given.optimizer_options.lr = rate_in(folder_ / "auto");
  ASSERT_TRUE(train_alone(given, folder_ / "given"));
  EXPECT_EQ(weights_at(folder_ / "auto", "step-00000014"),
            weights_at(folder_ / "given", "step-00000014"));
}

TEST_F(AutoChoices, LeaveNoTraceInStatisticsAndMasks) {
  TrainConfig found = with_auto_rate();
  found.model = listed_model;
  found.layers = R"({"layers": [{"kind": "conv2d", "channels": 4, "kernel": 3}, "batch_norm",
    "relu", {"kind": "dropout", "rate": 0.2}, "flatten", {"kind": "dense", "units": "classes"}]})";
  const auto trained = train_alone(found, folder_ / "auto");
  ASSERT_TRUE(trained) << trained.error().what;
  TrainConfig given = found;
  given.find.lr = false;
  given.optimizer_options.lr = rate_in(folder_ / "auto");
  ASSERT_TRUE(train_alone(given, folder_ / "given"));
  EXPECT_EQ(weights_at(folder_ / "auto", "step-00000014"),
            weights_at(folder_ / "given", "step-00000014"));
}

TEST_F(AutoChoices, ARestartReusesThem) {
  ASSERT_TRUE(train_alone(with_auto_rate(), folder_ / "whole"));
  const auto half = train_alone(with_auto_rate(), folder_ / "halves", 5);
  ASSERT_TRUE(half);
  const double rate = rate_in(folder_ / "halves");
  const auto rest = train_alone(with_auto_rate(), folder_ / "halves");
  ASSERT_TRUE(rest);
  EXPECT_EQ(rate_in(folder_ / "halves"), rate);
  EXPECT_EQ(weights_at(folder_ / "whole", "step-00000014"),
            weights_at(folder_ / "halves", "step-00000014"));
}

TEST_F(AutoChoices, ARunThatStartsAnewChoosesAnew) {
  write_text(folder_ / "run/choices.json", R"({"optimizer.lr": 1e-9})");
  TrainConfig config = with_auto_rate();
  config.resume = "none";
  ASSERT_TRUE(train_alone(config, folder_ / "run"));
  EXPECT_GT(rate_in(folder_ / "run"), 1e-6);
}

TEST_F(AutoChoices, AStopMeanwhileIsACancelledRun) {
  auto opened = open_communicator("solo", RankEnv{});
  int asked = 0;
  TrainOptions options;
  options.prepare = {.config = with_auto_rate(), .run_dir = folder_.path(), .threads = 1};
  options.prepare.stop_requested = [&] { return ++asked == 10; };
  const auto report = train(options, **opened);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->status, TrainStatus::cancelled);
  EXPECT_EQ(asked, 10);
  EXPECT_EQ(events_of(folder_.path(), "end").at(0)["status"], "cancelled");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "choices.json"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "checkpoints"));
}

TEST_F(AutoChoices, ReportsThatNoRateHelps) {
  auto opened = open_communicator("solo", RankEnv{});
  auto session = prepare(
      {.config = small_config("reference"), .run_dir = folder_.path(), .threads = 1}, **opened);
  ASSERT_TRUE(session);
  const LrRangeTest far_too_high{.lowest_rate = 1e5, .highest_rate = 1e9, .steps = 10};
  const auto rate = find_rate(*session, far_too_high, **opened, {});
  ASSERT_FALSE(rate);
  EXPECT_EQ(rate.error().kind, ErrorKind::unsatisfiable);
  EXPECT_THAT(rate.error().hint, HasSubstr("set optimizer.lr"));
}

}  // namespace
}  // namespace dllaunch
