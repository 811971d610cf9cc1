#include "trainer/config/loss_choice.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

std::string chosen(const std::string& loss, std::string_view models_own, TargetKind targets,
                   double smoothing = 0) {
  TrainConfig config;
  config.loss = loss;
  config.label_smoothing = smoothing;
  auto choice = choose_loss(config, models_own, targets);
  if (!choice) return choice.error().what + " | " + choice.error().hint;
  EXPECT_EQ(choice->label_smoothing, smoothing);
  return choice->name;
}

TEST(LossChoice, AutoIsTheModelsLossElseTheOneThatFits) {
  EXPECT_EQ(chosen("auto", "", TargetKind::class_index), "softmax_cross_entropy");
  EXPECT_EQ(chosen("auto", "", TargetKind::class_set), "sigmoid_cross_entropy");
  EXPECT_EQ(chosen("auto", "mean_squared_error", TargetKind::class_index), "mean_squared_error");
  EXPECT_EQ(chosen("auto", "mean_squared_error", TargetKind::values), "mean_squared_error");
  EXPECT_EQ(chosen("sigmoid_cross_entropy", "mean_squared_error", TargetKind::class_index, 0.1),
            "sigmoid_cross_entropy");
}

TEST(LossChoice, RealNumbersAndClassesAreNotConfused) {
  EXPECT_EQ(chosen("auto", "", TargetKind::values),
            "the labels are real numbers | set loss: mean_squared_error, or save classes "
            ".astype('int64')");
  EXPECT_EQ(chosen("softmax_cross_entropy", "", TargetKind::values),
            "loss softmax_cross_entropy does not fit a data set with real numbers | use loss: "
            "mean_squared_error");
  EXPECT_EQ(chosen("softmax_cross_entropy", "", TargetKind::class_set),
            "loss softmax_cross_entropy does not fit a data set with a set of classes per image | "
            "use loss: sigmoid_cross_entropy or mean_squared_error");
}

TEST(LossChoice, SmoothingIsForLossesThatHaveIt) {
  EXPECT_EQ(chosen("mean_squared_error", "", TargetKind::values, 0.1),
            "loss mean_squared_error has no label_smoothing | remove label_smoothing");
  EXPECT_EQ(chosen("auto", "", TargetKind::class_index, 0.1), "softmax_cross_entropy");
}

TEST(LossChoice, TheLossDecidesTheMetrics) {
  const auto judged = [](const char* loss, TargetKind targets) {
    return judged_as({.name = loss}, targets);
  };
  EXPECT_EQ(judged("mean_squared_error", TargetKind::class_index), TargetKind::class_index);
  EXPECT_EQ(judged("mean_squared_error", TargetKind::class_set), TargetKind::values);
  EXPECT_EQ(judged("sigmoid_cross_entropy", TargetKind::class_set), TargetKind::class_set);
  EXPECT_EQ(judged("mean_squared_error", TargetKind::values), TargetKind::values);
}

}  // namespace
}  // namespace dllaunch
