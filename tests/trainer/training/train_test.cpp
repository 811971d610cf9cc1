#include "trainer/training/train.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/trainer/backends/usable_backends.hpp"
#include "tests/trainer/training/small_training.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

class OnBackend : public testing::TestWithParam<BackendEntry> {
 protected:
  void SetUp() override {
    auto opened = GetParam().open();
    if (!opened) GTEST_SKIP() << opened.error().what;
  }
  TrainConfig config() const { return small_config(std::string(GetParam().name)); }
  const ScratchFolder folder_;
};

TEST_P(OnBackend, TheLossFalls) {
  auto longer = config();
  longer.epochs = 6;
  auto trained = train_alone(longer, folder_.path());
  ASSERT_TRUE(trained) << trained.error().what;
  EXPECT_EQ(trained->losses.size(), 42u);
  EXPECT_GT(trained->losses.front(), 1.5);
  const auto epochs = events_of(folder_.path(), "epoch");
  ASSERT_EQ(epochs.size(), 6u);
  EXPECT_LT(epochs.back()["loss"], 0.5);
  EXPECT_GT(epochs.back()["val_accuracy"], 0.8);
}

TEST_P(OnBackend, StoppingAfterAnEpochChangesNoBit) {
  auto whole = train_alone(config(), folder_ / "whole");
  ASSERT_TRUE(whole) << whole.error().what;
  auto first = config();
  first.epochs = 1;
  auto one = train_alone(first, folder_ / "parts");
  auto two = train_alone(config(), folder_ / "parts");
  ASSERT_TRUE(one && two);
  one->losses.insert(one->losses.end(), two->losses.begin(), two->losses.end());
  EXPECT_EQ(one->losses, whole->losses);
  EXPECT_EQ(weights_at(folder_ / "parts", "step-00000014"),
            weights_at(folder_ / "whole", "step-00000014"));
}

TEST_P(OnBackend, StoppingWithinAnEpochChangesNoBit) {
  auto whole = train_alone(config(), folder_ / "whole");
  ASSERT_TRUE(whole) << whole.error().what;
  for (const std::size_t stop_after : {1, 4, 7, 10}) {  // 7: at the end of the first epoch
    const auto run_dir = folder_ / ("parts" + std::to_string(stop_after));
    auto one = train_alone(config(), run_dir, stop_after);
    ASSERT_TRUE(one);
    EXPECT_EQ(one->report.status, TrainStatus::cancelled);
    EXPECT_EQ(one->losses.size(), stop_after);
    auto two = train_alone(config(), run_dir);
    ASSERT_TRUE(two);
    EXPECT_EQ(two->report.status, TrainStatus::completed);
    one->losses.insert(one->losses.end(), two->losses.begin(), two->losses.end());
    EXPECT_EQ(one->losses, whole->losses);
    EXPECT_EQ(weights_at(run_dir, "step-00000014"), weights_at(folder_ / "whole", "step-00000014"));
    const auto of_whole = events_of(folder_ / "whole", "epoch");
    const auto of_parts = events_of(run_dir, "epoch");
    ASSERT_EQ(of_parts.size(), 2u);
    for (const std::size_t epoch : {0, 1}) {
      for (const char* key : {"epoch", "loss", "accuracy", "val_loss", "val_accuracy"}) {
        EXPECT_EQ(of_parts[epoch][key], of_whole[epoch][key]) << key;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, OnBackend, testing::ValuesIn(usable_backends()),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(Train, AccumulatedBatchesAreOneLargeBatch) {
  auto large = small_config("reference");
  large.precision = Precision::fp64;
  auto small = large;
  small.batch_size = 4;
  small.accumulate = 4;
  const ScratchFolder folder;
  auto one = train_alone(large, folder / "large");
  auto four = train_alone(small, folder / "small");
  ASSERT_TRUE(one && four);
  ASSERT_EQ(one->losses.size(), four->losses.size());
  for (std::size_t i = 0; i < one->losses.size(); ++i) {
    EXPECT_NEAR(four->losses[i], one->losses[i], 1e-12 * one->losses[i]);
  }
}

TEST(Train, ValidationDoesNotDependOnTheBatchSize) {
  auto config = small_config("reference");
  config.precision = Precision::fp64;
  config.data.images = 480;  // 48 for validation: not a multiple of any batch size below
  config.max_steps = 1;
  std::vector<Json> epochs;
  for (const int batch_size : {35, 7, 5}) {
    config.batch_size = batch_size;
    config.accumulate = 35 / batch_size;
    const ScratchFolder folder;
    ASSERT_TRUE(train_alone(config, folder.path()));
    epochs.push_back(events_of(folder.path(), "epoch")[0]);
    EXPECT_NEAR(epochs.back()["val_loss"], epochs.front()["val_loss"], 1e-12);
    EXPECT_EQ(epochs.back()["val_accuracy"], epochs.front()["val_accuracy"]);
  }
}

TEST(Train, WorkersChangeNothing) {
  const ScratchFolder folder;
  auto config = small_config("reference");
  config.workers = 0;
  auto inline_run = train_alone(config, folder / "0");
  config.workers = 3;
  auto threaded = train_alone(config, folder / "3");
  config.workers.reset();
  auto usual = train_alone(config, folder / "usual");
  ASSERT_TRUE(inline_run && threaded && usual);
  EXPECT_EQ(inline_run->losses, threaded->losses);
  EXPECT_EQ(inline_run->losses, usual->losses);
  EXPECT_EQ(weights_at(folder / "0", "step-00000014"), weights_at(folder / "3", "step-00000014"));
}

TEST(Train, BucketsAndOverlapChangeNothing) {
  const ScratchFolder folder;
  auto config = small_config("reference");
  auto usual = train_alone(config, folder / "usual");
  config.runtime = {.allreduce = "solo", .bucket_mb = 0.01, .overlap = false};
  auto other = train_alone(config, folder / "other");
  ASSERT_TRUE(usual && other);
  EXPECT_EQ(usual->losses, other->losses);
}

TEST(Train, AFinishedRunDoesNothing) {
  const ScratchFolder folder;
  auto config = small_config("reference");
  ASSERT_TRUE(train_alone(config, folder.path()));
  auto again = train_alone(config, folder.path());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->report.status, TrainStatus::completed);
  EXPECT_TRUE(again->losses.empty());
  EXPECT_EQ(events_of(folder.path(), "checkpoint").size(), 2u);
}

TEST(Train, MaxStepsEndsWithinAnEpochAndMayBeRaised) {
  const ScratchFolder folder;
  auto config = small_config("reference");
  ASSERT_TRUE(train_alone(config, folder / "whole"));
  config.max_steps = 5;
  auto five = train_alone(config, folder / "parts");
  ASSERT_TRUE(five);
  EXPECT_EQ(five->report.status, TrainStatus::completed);
  EXPECT_EQ(five->losses.size(), 5u);
  EXPECT_EQ(events_of(folder / "parts", "epoch")[0]["images"], 80);
  EXPECT_FALSE(events_of(folder / "parts", "epoch")[0]["val_loss"].is_null());
  EXPECT_TRUE(train_alone(config, folder / "parts")->losses.empty());
  config.max_steps.reset();
  ASSERT_TRUE(train_alone(config, folder / "parts"));
  EXPECT_EQ(events_of(folder / "parts", "epoch")[1]["images"], 20);  // by this process
  EXPECT_EQ(events_of(folder / "parts", "epoch")[2]["images"], 100);
  EXPECT_EQ(weights_at(folder / "parts", "step-00000014"),
            weights_at(folder / "whole", "step-00000014"));
}

TEST(Train, ANonFiniteLossEndsItAndNamesStepRankAndLayer) {
  const ScratchFolder folder;
  auto config = small_config("reference");
  config.optimizer_options.lr = 1e38;
  auto trained = train_alone(config, folder.path());
  ASSERT_TRUE(trained);
  EXPECT_EQ(trained->report.status, TrainStatus::failed);
  EXPECT_THAT(
      trained->report.error->what,
      testing::ContainsRegex("the loss is .* on rank 0 at step [0-9]+ \\(epoch 1\\): [a-z0-9]+ is "
                             "the first layer whose output has such a number"));
  EXPECT_EQ(events_of(folder.path(), "end")[0]["status"], "failed");
  EXPECT_TRUE(events_of(folder.path(), "checkpoint").empty());
}

TEST(Train, ACheckpointThatCannotBeWrittenEndsIt) {
  const ScratchFolder folder;
  write_text(folder / "checkpoints", "a file in the way");
  auto trained = train_alone(small_config("reference"), folder.path());
  ASSERT_TRUE(trained);
  EXPECT_EQ(trained->report.status, TrainStatus::failed);
  EXPECT_THAT(trained->report.error->what, HasSubstr("cannot write"));
  EXPECT_EQ(events_of(folder.path(), "end")[0]["status"], "failed");
}

TEST(Train, CheckpointsComeByEpochsAndByMinutes) {
  auto config = small_config("reference");
  config.epochs = 5;
  config.checkpoint = {.every_epochs = 2, .every_minutes = {}, .keep = 9};
  const ScratchFolder by_epochs;
  ASSERT_TRUE(train_alone(config, by_epochs.path()));
  std::vector<std::int64_t> steps;
  for (const auto& event : events_of(by_epochs.path(), "checkpoint"))
    steps.push_back(event["step"]);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{14, 28, 35}));

  config.epochs = 1;
  config.checkpoint = {.every_epochs = {}, .every_minutes = 1e-9, .keep = 2};
  const ScratchFolder by_minutes;
  ASSERT_TRUE(train_alone(config, by_minutes.path()));
  // As soon as the previous one is written: limited by the disk, plus the last one.
  steps.clear();
  for (const auto& event : events_of(by_minutes.path(), "checkpoint")) {
    steps.push_back(event["step"]);
  }
  EXPECT_GE(steps.size(), 2u);
  EXPECT_EQ(steps.back(), 7);
  EXPECT_TRUE(std::ranges::is_sorted(steps));
  EXPECT_EQ(list_checkpoints(by_minutes / "checkpoints").size(), 2u);
}

TEST(Train, ValidatesAsOftenAsConfigured) {
  auto config = small_config("reference");
  config.epochs = 3;
  const ScratchFolder folder;
  config.validate_every = 2;
  ASSERT_TRUE(train_alone(config, folder / "two"));
  const auto epochs = events_of(folder / "two", "epoch");
  EXPECT_TRUE(epochs[0]["val_loss"].is_null());
  EXPECT_TRUE(epochs[0]["val_f1_macro"].is_null());
  for (const char* key : {"val_accuracy", "val_top5_accuracy", "val_f1_macro"}) {
    EXPECT_TRUE(epochs[1][key].is_number()) << key;
  }
  EXPECT_GE(epochs[1]["val_top5_accuracy"], epochs[1]["val_accuracy"]);
  EXPECT_FALSE(epochs[1]["val_loss"].is_null());
  EXPECT_FALSE(epochs[2]["val_loss"].is_null());  // always after the last epoch
  config.validate_every = 0;
  ASSERT_TRUE(train_alone(config, folder / "never"));
  EXPECT_TRUE(events_of(folder / "never", "epoch")[2]["val_accuracy"].is_null());
}

TEST(Train, EventsRecordEverything) {
  auto config = small_config("reference");
  config.data.images = 600;
  const ScratchFolder folder;
  auto trained = train_alone(config, folder.path());
  ASSERT_TRUE(trained);
  const auto start = events_of(folder.path(), "start").at(0);
  EXPECT_EQ(start["ranks"], 1);
  EXPECT_EQ(start["global_batch"], 16);
  EXPECT_EQ(start["steps_per_epoch"], 38);
  EXPECT_EQ(start["images"], 600);
  EXPECT_EQ(start["val_images"], 60);
  EXPECT_EQ(start["parameters"], 61706);
  const auto steps = events_of(folder.path(), "step");
  ASSERT_GE(steps.size(), 3u);
  EXPECT_EQ(steps.back()["step"], 76);
  EXPECT_EQ(steps.back()["epoch"], 2);
  EXPECT_EQ(steps.back()["loss"], trained->losses.back());
  for (std::size_t i = 2; i < steps.size(); ++i) {
    // At most ten per second, plus the last of an epoch.
    if (steps[i]["step"] == 38 || steps[i]["step"] == 76) continue;
    EXPECT_GE(steps[i]["time"].get<double>() - steps[i - 1]["time"].get<double>(), 0.099);
  }
  // Images per second times seconds equals the images: nothing is counted twice or omitted.
  double images = 0;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    images += steps[i]["images_per_s"].get<double>() *
              (steps[i]["time"].get<double>() - steps[i - 1]["time"].get<double>());
  }
  EXPECT_NEAR(images, 1200 - 16, 150);
  EXPECT_EQ(events_of(folder.path(), "end").at(0)["status"], "completed");
}

TEST(Train, FashionMnistIsLearnt) {
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist")) {
    GTEST_SKIP() << "apt-get install dataset-fashion-mnist";
  }
  auto config = small_config("auto");
  config.dataset = "fashion-mnist";
  config.data = {};
  config.batch_size = 64;
  config.max_steps = 150;
  config.validate_every = 0;
  const ScratchFolder folder;
  auto trained = train_alone(config, folder.path());
  ASSERT_TRUE(trained) << trained.error().what;
  double last_twenty = 0;
  for (std::size_t i = 130; i < 150; ++i) last_twenty += trained->losses[i] / 20;
  EXPECT_GT(trained->losses.front(), 2.0);
  EXPECT_LT(last_twenty, 1.0);
}

}  // namespace
}  // namespace dllaunch
