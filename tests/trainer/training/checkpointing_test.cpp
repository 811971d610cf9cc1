#include "trainer/training/checkpointing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/core.h>

#include "runtime/communicators/opening/communicators.hpp"
#include "tests/trainer/checkpoints/size_limit.hpp"
#include "tests/trainer/training/small_training.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;

/// 7 steps per epoch; a checkpoint has two files of 247 kB.
class CheckpointingTest : public testing::Test {
 protected:
  CheckpointingTest() { config_.epochs = 4; }

  std::vector<std::int64_t> steps_of(const std::string& kind) const {
    std::vector<std::int64_t> steps;
    for (const auto& event : events_of(folder_.path(), kind)) steps.push_back(event["step"]);
    return steps;
  }
  /// In any case the newest checkpoint is valid and no temporary files remain.
  void expect_newest(std::int64_t step) const {
    const auto search = find_newest_checkpoint(folder_ / "checkpoints");
    ASSERT_TRUE(search.found);
    EXPECT_EQ(search.found->checkpoint.position.step, step);
    EXPECT_TRUE(search.refused.empty());
    for (const auto& entry : fs::directory_iterator(folder_ / "checkpoints")) {
      EXPECT_NE(entry.path().filename().string().front(), '.') << entry.path();
    }
  }

  const ScratchFolder folder_;
  TrainConfig config_ = small_config("reference");
};

TEST_F(CheckpointingTest, EventsHaveTheBlockedAndTheTotalTime) {
  config_.checkpoint.mb_per_s = 2;
  auto trained = train_alone(config_, folder_.path());
  ASSERT_TRUE(trained) << trained.error().what;
  const auto events = events_of(folder_.path(), "checkpoint");
  ASSERT_EQ(events.size(), 4u);
  for (const auto& event : events) {
    EXPECT_GT(event["seconds_blocked"], 0);
    EXPECT_LE(event["seconds_blocked"], event["seconds_total"]);
    EXPECT_GT(event["bytes"], 490'000);
  }
  EXPECT_EQ(events[3]["seconds_blocked"], events[3]["seconds_total"]) << "it waited for the last";
  EXPECT_THAT(trained->said, Contains(HasSubstr("MB in ")));
  expect_newest(28);
}

TEST_F(CheckpointingTest, AsynchronousWritesGiveTheSameBytes) {
  auto slow = config_;
  slow.checkpoint.mb_per_s = 0.5;
  slow.checkpoint.keep = config_.checkpoint.keep = 9;
  ASSERT_TRUE(train_alone(config_, folder_ / "fast"));
  ASSERT_TRUE(train_alone(slow, folder_ / "slow"));
  for (const char* step : {"step-00000007", "step-00000014", "step-00000021", "step-00000028"}) {
    EXPECT_EQ(weights_at(folder_ / "slow", step), weights_at(folder_ / "fast", step));
  }
}

TEST_F(CheckpointingTest, AFullDiskStopsTheTrainingWithTheErrorOfTheDisk) {
  config_.epochs = 1;
  ASSERT_TRUE(train_alone(config_, folder_.path()));
  config_.epochs = 40;
  const SizeLimit full(150'000);
  auto trained = train_alone(config_, folder_.path());
  ASSERT_TRUE(trained) << trained.error().what;
  EXPECT_EQ(trained->report.status, TrainStatus::failed);
  EXPECT_THAT(trained->report.error->what,
              testing::ContainsRegex("cannot write .*model.safetensors: File too large"));
  EXPECT_LT(trained->losses.size(), 39u * 7);
  EXPECT_EQ(steps_of("checkpoint_failed"), std::vector<std::int64_t>{14});
  EXPECT_EQ(events_of(folder_.path(), "end").back()["status"], "failed");
  expect_newest(7);
}

TEST_F(CheckpointingTest, OnErrorContinueTriesAgain) {
  config_.epochs = 1;
  ASSERT_TRUE(train_alone(config_, folder_.path()));
  config_.epochs = 6;
  config_.checkpoint.stop_on_error = false;
  std::optional<SizeLimit> full(150'000);
  auto communicator = *open_communicator("solo", RankEnv{});
  TrainOptions options;
  std::vector<std::string> warnings;
  options.prepare = {.config = config_, .run_dir = folder_.path(), .threads = 1};
  options.prepare.warn = [&](std::string_view line) { warnings.emplace_back(line); };
  options.on_step = [&](const StepReport& step) {
    if (step.step == 31) full.reset();  // space is available again
  };
  auto report = train(options, *communicator);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->status, TrainStatus::completed);
  EXPECT_EQ(steps_of("checkpoint_failed"), (std::vector<std::int64_t>{14, 21, 28}));
  EXPECT_EQ(steps_of("checkpoint"), (std::vector<std::int64_t>{7, 35, 42}));
  EXPECT_THAT(warnings, Contains(testing::ContainsRegex("checkpoint of step 14: cannot write .*; "
                                                        "training continues")));
  expect_newest(42);
}

TEST_F(CheckpointingTest, WithoutItsLastCheckpointATrainingFails) {
  config_.epochs = 2;
  config_.checkpoint.stop_on_error = false;
  const SizeLimit full(150'000);
  auto trained = train_alone(config_, folder_.path());
  ASSERT_TRUE(trained);
  EXPECT_EQ(trained->losses.size(), 14u);
  EXPECT_EQ(trained->report.status, TrainStatus::failed);
  EXPECT_THAT(trained->report.error->what, HasSubstr("File too large"));
  EXPECT_EQ(steps_of("checkpoint_failed"), (std::vector<std::int64_t>{7, 14}));
  EXPECT_TRUE(fs::is_empty(folder_ / "checkpoints"));
}

TEST_F(CheckpointingTest, SkipsOneAfterWaitSeconds) {
  config_.checkpoint.mb_per_s = 0.01;  // the write takes 50 s: longer than all steps, even with
                                       // sanitizers
  config_.checkpoint.wait_seconds = 0;
  auto trained = train_alone(config_, folder_.path());
  ASSERT_TRUE(trained);
  EXPECT_EQ(trained->report.status, TrainStatus::completed);
  const auto left_out = events_of(folder_.path(), "checkpoint_failed");
  ASSERT_FALSE(left_out.empty());
  EXPECT_EQ(left_out[0]["step"], 14);
  EXPECT_EQ(left_out[0]["why"], "skipped: the previous one is still being written after 0 s");
  EXPECT_EQ(steps_of("checkpoint").size() + left_out.size(), 4u);
  expect_newest(28);
}

TEST_F(CheckpointingTest, AStopHasItsCheckpointWhateverTheRate) {
  config_.checkpoint.mb_per_s = 0.01;
  auto trained = train_alone(config_, folder_.path(), /*stop_after=*/10);
  ASSERT_TRUE(trained);
  EXPECT_EQ(trained->report.status, TrainStatus::cancelled);
  EXPECT_EQ(steps_of("checkpoint"), (std::vector<std::int64_t>{7, 10}));
  expect_newest(10);
}

/// A write in progress when the loss becomes NaN is completed and reported.
TEST_F(CheckpointingTest, AFailureCompletesTheOneInProgress) {
  config_.optimizer_options.lr = 0.05;
  config_.checkpoint = {.every_epochs = {}, .every_minutes = 1e-9, .mb_per_s = 0.1};
  auto communicator = *open_communicator("solo", RankEnv{});
  TrainOptions options;
  options.prepare = {.config = config_, .run_dir = folder_.path(), .threads = 1};
  options.prepare.config.optimizer_options.lr = 1e38;
  auto report = train(options, *communicator);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->status, TrainStatus::failed);
  EXPECT_EQ(steps_of("checkpoint").size(), 1u);
  expect_newest(steps_of("checkpoint")[0]);
}

TEST_F(CheckpointingTest, TheBestEpochIsSavedAndStays) {
  config_.epochs = 8;
  config_.checkpoint = {.every_epochs = {}, .keep = 1, .best = "val_accuracy"};
  auto trained = train_alone(config_, folder_.path());
  ASSERT_TRUE(trained) << trained.error().what;
  std::vector<std::int64_t> better;
  double best = -1;
  for (const auto& epoch : events_of(folder_.path(), "epoch")) {
    if (epoch["val_accuracy"] <= best) continue;
    best = epoch["val_accuracy"];
    better.push_back(epoch["step"]);
  }
  ASSERT_LT(better.size(), 8u) << "ten images are soon all correct, and a tie is not better";
  auto expected = better;
  if (better.back() != 56) expected.push_back(56);
  EXPECT_EQ(steps_of("checkpoint"), expected);
  const auto path = folder_ / "checkpoints" / fmt::format("step-{:08}", better.back());
  EXPECT_EQ(fs::canonical(folder_ / "checkpoints" / "best"), fs::canonical(path));
  EXPECT_EQ(read_metrics(path)->at("val_accuracy"), best);
  EXPECT_THAT(trained->said,
              Contains(HasSubstr(fmt::format("best val_accuracy so far: {:.4f}", best))));

  // A resumed run knows it: the best one stays, and no equal one is saved but the last.
  config_.epochs = 10;
  ASSERT_TRUE(train_alone(config_, folder_.path()));
  if (best < 1) return;
  expected.push_back(70);
  EXPECT_EQ(steps_of("checkpoint"), expected);
  EXPECT_EQ(fs::canonical(folder_ / "checkpoints" / "best"), fs::canonical(path));
}

TEST_F(CheckpointingTest, AutoFollowsTheTimeThatSavingTakes) {
  config_.data.images = 400;
  config_.checkpoint.every_auto = true;
  config_.checkpoint.mtbf_hours = 1e-7;
  auto trained = train_alone(config_, folder_.path());
  ASSERT_TRUE(trained);
  EXPECT_THAT(trained->said, Contains(testing::ContainsRegex(
                                 "checkpoints every .* s from now on: one takes .* s, a failure is "
                                 "expected every 0.00036 s")));
  const auto steps = steps_of("checkpoint");
  EXPECT_TRUE(std::ranges::any_of(steps, [](auto step) { return step % 25 != 0; }))
      << "none within an epoch";
  auto seldom = config_;
  seldom.checkpoint.mtbf_hours = {};
  ASSERT_TRUE(train_alone(seldom, folder_ / "seldom"));
  EXPECT_EQ(events_of(folder_ / "seldom", "checkpoint").size(), 4u);
}

}  // namespace
}  // namespace dllaunch
