// Trainings with targets other than a single class, from files to events.jsonl.
#include <gmock/gmock.h>

#include "tests/trainer/backends/usable_backends.hpp"
#include "tests/trainer/training/small_training.hpp"
#include "tests/trainer/training/targets_set.hpp"

namespace dllaunch {
namespace {

using testing::Contains;
using testing::HasSubstr;

TrainConfig on_npy(const std::filesystem::path& data, const std::string& backend) {
  auto config = small_config(backend);
  config.dataset = "npy";
  config.data = {.path = data.string()};
  config.optimizer = "adam";
  config.optimizer_options = {.lr = 0.005};
  config.epochs = 8;
  return config;
}

TEST(Targets, SetsOfClassesAreLearntAndCounted) {
  for (const BackendEntry& backend : usable_backends()) {
    SCOPED_TRACE(backend.name);
    const ScratchFolder folder;
    write_targets_set(folder / "data", TargetKind::class_set);
    const auto config = on_npy(folder / "data", std::string(backend.name));
    auto trained = train_alone(config, folder / "run");
    ASSERT_TRUE(trained) << trained.error().what;
    const auto epochs = events_of(folder / "run", "epoch");
    EXPECT_LT(epochs.back()["loss"], 0.5 * epochs.front()["loss"].get<double>());
    EXPECT_GT(epochs.back()["val_f1_micro"], 0.85);
    EXPECT_GT(epochs.back()["val_f1_macro"], 0.85);
    EXPECT_GT(epochs.back()["val_accuracy"], 0.6) << "of whole sets";
    EXPECT_TRUE(epochs.back()["val_top5_accuracy"].is_null());
    EXPECT_TRUE(epochs.back()["val_mean_absolute_error"].is_null());
    EXPECT_THAT(trained->said, Contains(HasSubstr(", F1 micro 0.")));
    EXPECT_TRUE(std::filesystem::exists(folder / "run" / "classes.csv"));
    EXPECT_FALSE(std::filesystem::exists(folder / "run" / "confusion.csv"));
  }
}

TEST(Targets, RealNumbersAreLearntAndMeasured) {
  for (const BackendEntry& backend : usable_backends()) {
    SCOPED_TRACE(backend.name);
    const ScratchFolder folder;
    write_targets_set(folder / "data", TargetKind::values);
    auto config = on_npy(folder / "data", std::string(backend.name));
    EXPECT_EQ(train_alone(config, folder / "unsaid").error().what, "the labels are real numbers");
    config.loss = "mean_squared_error";
    auto trained = train_alone(config, folder / "run");
    ASSERT_TRUE(trained) << trained.error().what;
    const auto epochs = events_of(folder / "run", "epoch");
    const double variance = 1 / 3.0;  // the error of a constant prediction
    EXPECT_LT(epochs.back()["val_loss"], 0.2 * variance);
    EXPECT_NEAR(epochs.back()["val_loss"], epochs.back()["val_mean_squared_error"], 1e-9);
    EXPECT_LT(epochs.back()["val_mean_absolute_error"], 0.25);
    EXPECT_TRUE(epochs.back()["accuracy"].is_null());
    EXPECT_TRUE(epochs.back()["val_accuracy"].is_null());
    EXPECT_TRUE(epochs.back()["val_f1_macro"].is_null());
    EXPECT_FALSE(std::filesystem::exists(folder / "run" / "classes.csv"));
  }
}

TEST(Targets, AResumedRunIsBitExact) {
  for (const TargetKind kind : {TargetKind::class_set, TargetKind::values}) {
    const ScratchFolder folder;
    write_targets_set(folder / "data", kind);
    auto config = on_npy(folder / "data", "reference");
    config.epochs = 2;
    if (kind == TargetKind::values) config.loss = "mean_squared_error";
    ASSERT_TRUE(train_alone(config, folder / "whole"));
    ASSERT_TRUE(train_alone(config, folder / "parts", /*stop_after=*/4));
    ASSERT_TRUE(train_alone(config, folder / "parts"));
    EXPECT_EQ(weights_at(folder / "parts", "step-00000012"),
              weights_at(folder / "whole", "step-00000012"));
  }
}

TEST(Targets, ABadRowIsABadImage) {
  const ScratchFolder folder;
  write_targets_set(folder / "data", TargetKind::class_set);
  const auto labels = folder / "data" / "train_labels.npy";
  std::string bytes = read_text(labels);
  bytes[bytes.size() - 4] = '\7';  // the last number of the second to last image
  write_text(labels, bytes);
  auto config = on_npy(folder / "data", "reference");
  config.epochs = 1;
  auto stopped = train_alone(config, folder / "run");
  ASSERT_TRUE(stopped);
  ASSERT_TRUE(stopped->report.error);
  EXPECT_THAT(stopped->report.error->what,
              HasSubstr("train_labels.npy: class 2 of image 94 is neither 0 nor 1: 7"));
  config.data.skip_bad = true;
  auto skipped = train_alone(config, folder / "skipped");
  ASSERT_TRUE(skipped);
  EXPECT_FALSE(skipped->report.error);
  EXPECT_EQ(events_of(folder / "skipped", "epoch").back()["skipped"], 1);
}

/// The published method for hyperspectral cubes, on a few small ones.
TEST(Targets, CubesAreClassifiedByConvolutionsAlongTheirBands) {
  std::vector<std::vector<double>> losses;
  for (const BackendEntry& backend : usable_backends()) {
    SCOPED_TRACE(backend.name);
    const ScratchFolder folder;
    write_cubes(folder / "data", "train", 40);
    write_cubes(folder / "data", "val", 10);
    auto config = on_npy(folder / "data", std::string(backend.name));
    config.model = "conv3d";
    config.batch_size = 10;
    config.epochs = 4;
    config.optimizer = "sgd";
    config.optimizer_options = {.lr = 0.1};
    config.schedule.decay = "inverse-time";
    config.schedule.decay_rate = 5e-6;
    auto trained = train_alone(config, folder / "run");
    ASSERT_TRUE(trained) << trained.error().what;
    const auto last = events_of(folder / "run", "epoch").back();
    EXPECT_EQ(last["val_accuracy"], 1);
    EXPECT_LT(last["val_loss"], 0.2);
    EXPECT_TRUE(last["val_mean_squared_error"].is_null()) << "classes are reported as classes";
    losses.push_back(trained->losses);
  }
  for (std::size_t step = 0; step < losses[0].size(); ++step) {
    EXPECT_NEAR(losses.front()[step], losses.back()[step], 1e-3) << "step " << step;
  }
}

TEST(Targets, SmoothedLabelsCostMoreAndTrainOn) {
  const ScratchFolder folder;
  auto config = small_config("reference");
  auto plain = train_alone(config, folder / "plain");
  config.label_smoothing = 0.1;
  auto smooth = train_alone(config, folder / "smooth");
  ASSERT_TRUE(plain && smooth);
  EXPECT_LT(smooth->losses.back(), smooth->losses.front());
  EXPECT_GT(smooth->losses.back(), plain->losses.back());
  config.loss = "mean_squared_error";
  EXPECT_EQ(train_alone(config, folder / "none").error().what,
            "loss mean_squared_error has no label_smoothing");
}

}  // namespace
}  // namespace dllaunch
