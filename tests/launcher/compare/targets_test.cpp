#include "launcher/compare/targets.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/launcher/compare/compared_runs.hpp"

namespace dllaunch {
namespace {

TEST(Targets, ByDefaultAreTheWorstOfTheBestValues) {
  // Training loss falls 4 2 1 0.5, and 8 4 2.
  const std::vector<ComparedRun> runs = {trained("a", 8, 4), trained("b", 16, 3)};
  const auto loss = target_of(runs, TargetKind::loss, {});
  ASSERT_TRUE(loss);
  EXPECT_TRUE(loss->validation);
  EXPECT_EQ(loss->value, 3);
  EXPECT_EQ(target_words(*loss), "validation loss 3");
  ASSERT_TRUE(loss->reached[0] && loss->reached[1]);
  EXPECT_EQ(loss->reached[0]->epoch, 2);
  EXPECT_EQ(loss->reached[0]->wall_s, 20);
  EXPECT_EQ(loss->reached[1]->epoch, 3);
  const auto accuracy = target_of(runs, TargetKind::accuracy, {});
  ASSERT_TRUE(accuracy);
  EXPECT_EQ(accuracy->value, 0.6);
  EXPECT_EQ(accuracy->reached[0]->epoch, 2);
}

TEST(Targets, AGivenOneMayBeOutOfReach) {
  const std::vector<ComparedRun> runs = {trained("a", 8, 4), trained("b", 16, 3)};
  const auto loss = target_of(runs, TargetKind::loss, 1.5);
  EXPECT_TRUE(loss->reached[0]);
  EXPECT_FALSE(loss->reached[1]);
  const auto accuracy = target_of(runs, TargetKind::accuracy, 0.99);
  EXPECT_FALSE(accuracy->reached[0]);
}

TEST(Targets, AreOfTheTrainingWhereOneRunDoesNotValidate) {
  std::vector<ComparedRun> runs = {trained("a", 8, 4), trained("b", 16, 3), scaled("c")};
  for (auto& epoch : runs[1].epochs) epoch.val_loss.reset();
  runs[0].epochs[0].val_loss = std::numeric_limits<double>::quiet_NaN();
  runs[0].epochs[0].loss = std::numeric_limits<double>::quiet_NaN();
  const auto loss = target_of(runs, TargetKind::loss, {});
  EXPECT_FALSE(loss->validation);
  EXPECT_EQ(loss->value, 2);
  EXPECT_FALSE(loss->reached[2]) << "a study has no epochs";
  EXPECT_FALSE(target_of(std::vector{scaled("c")}, TargetKind::loss, 1.0));
}

TEST(Targets, ARunWithoutAnyValueDoesNotCount) {
  std::vector<ComparedRun> runs = {trained("a", 8, 4), trained("b", 16, 3)};
  for (auto& epoch : runs[1].epochs) epoch.accuracy = epoch.val_accuracy = std::nullopt;
  EXPECT_TRUE(has_values(runs[1], TargetKind::loss));
  EXPECT_FALSE(has_values(runs[1], TargetKind::accuracy));
  const auto accuracy = target_of(runs, TargetKind::accuracy, {});
  ASSERT_TRUE(accuracy);
  EXPECT_TRUE(accuracy->validation);
  EXPECT_EQ(accuracy->reached[0]->epoch, 4);
  EXPECT_FALSE(accuracy->reached[1]);
}

}  // namespace
}  // namespace dllaunch
