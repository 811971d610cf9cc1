#include "trainer/reports.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/trainer/small_training.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;

std::vector<std::vector<std::string>> rows_of(const std::filesystem::path& file) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream text(read_text(file));
  for (std::string line; std::getline(text, line);) {
    std::istringstream fields(line);
    rows.emplace_back();
    for (std::string field; std::getline(fields, field, ',');) rows.back().push_back(field);
  }
  return rows;
}

/// What of the rows does not depend on time.
std::vector<std::string> steady(const std::vector<std::string>& row) {
  return {row.begin(), row.end() - 2};
}

TEST(Reports, ATableHasTheNumbersOfTheEpochEvents) {
  auto config = small_config("reference");
  config.epochs = 3;
  config.validate_every = 2;
  const ScratchFolder folder;
  ASSERT_TRUE(train_alone(config, folder.path()));
  const auto rows = rows_of(folder / "metrics.csv");
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_THAT(rows[0],
              ElementsAre("epoch", "step", "loss", "accuracy", "val_loss", "val_accuracy",
                          "val_top5_accuracy", "val_f1_macro", "lr", "seconds", "images_per_s"));
  const auto events = events_of(folder.path(), "epoch");
  for (std::size_t epoch = 0; epoch < 3; ++epoch) {
    ASSERT_EQ(rows[epoch + 1].size(), rows[0].size());
    for (std::size_t i = 0; i < rows[0].size(); ++i) {
      const auto& of_event = events[epoch][rows[0][i]];
      const std::string& field = rows[epoch + 1][i];
      EXPECT_EQ(field == "NA", of_event.is_null()) << rows[0][i];
      if (of_event.is_number()) {
        EXPECT_EQ(std::stod(field), of_event.get<double>()) << rows[0][i];
      }
    }
  }
  EXPECT_EQ(rows[1][5], "NA");
  EXPECT_EQ(events[2]["step"], 21);
  EXPECT_EQ(events[2]["lr"], 0.02);
}

TEST(Reports, AResumedRunHasTheTableOfOneThatNeverStopped) {
  const auto config = small_config("reference");
  const ScratchFolder folder;
  ASSERT_TRUE(train_alone(config, folder / "whole"));
  const auto whole = rows_of(folder / "whole" / "metrics.csv");
  for (const std::size_t stop_after : {3, 7, 9}) {  // 7: all steps of the first epoch
    const auto run_dir = folder / ("parts" + std::to_string(stop_after));
    ASSERT_TRUE(train_alone(config, run_dir, stop_after));
    ASSERT_TRUE(train_alone(config, run_dir));
    const auto parts = rows_of(run_dir / "metrics.csv");
    ASSERT_EQ(parts.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
      auto expected = steady(whole[i]);
      if (stop_after == 7 && i == 1) expected[8] = "NA";  // lr: the resume found the epoch done
      EXPECT_EQ(steady(parts[i]), expected);
    }
  }
}

TEST(Reports, EpochsThatARestartRepeatsHaveOneRow) {
  auto config = small_config("reference");
  config.epochs = 3;
  config.checkpoint.every_epochs = 9;  // so the end has the only one
  const ScratchFolder folder;
  ASSERT_TRUE(train_alone(config, folder.path()));
  const auto before = rows_of(folder / "metrics.csv");
  std::filesystem::remove_all(folder / "checkpoints");  // killed before it was written
  ASSERT_TRUE(train_alone(config, folder.path()));
  const auto after = rows_of(folder / "metrics.csv");
  ASSERT_EQ(after.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(steady(after[i]), steady(before[i]));
  EXPECT_EQ(events_of(folder.path(), "epoch").size(), 6u);  // they tell all that happened
}

TEST(Reports, TheLatestValidationLeavesTablesOfClasses) {
  auto config = small_config("reference");
  config.data.images = 470;
  const ScratchFolder folder;
  ASSERT_TRUE(train_alone(config, folder.path()));
  const auto event = events_of(folder.path(), "epoch").back();
  const auto matrix = rows_of(folder / "confusion.csv");
  const auto classes = rows_of(folder / "classes.csv");
  ASSERT_EQ(matrix.size(), 11u);
  ASSERT_EQ(classes.size(), 11u);
  EXPECT_EQ(matrix[0][1], "class 0");
  int images = 0;
  int right = 0;
  double f1 = 0;
  int present = 0;
  for (std::size_t actual = 1; actual <= 10; ++actual) {
    int of_class = 0;
    for (std::size_t predicted = 1; predicted <= 10; ++predicted) {
      of_class += std::stoi(matrix[actual][predicted]);
    }
    right += std::stoi(matrix[actual][actual]);
    images += of_class;
    EXPECT_EQ(classes[actual][0], matrix[0][actual]);
    EXPECT_EQ(std::stoi(classes[actual][1]), of_class);
    if (classes[actual][5] == "NA") continue;
    f1 += std::stod(classes[actual][5]);
    ++present;
  }
  EXPECT_EQ(images, 47);
  EXPECT_DOUBLE_EQ(right / 47.0, event["val_accuracy"]);
  EXPECT_DOUBLE_EQ(f1 / present, event["val_f1_macro"]);
}

TEST(Reports, AreLeftOutOnRequest) {
  auto config = small_config("reference");
  config.reports.csv = false;
  const ScratchFolder folder;
  ASSERT_TRUE(train_alone(config, folder.path()));
  for (const char* name : {"metrics.csv", "confusion.csv", "classes.csv"}) {
    EXPECT_FALSE(std::filesystem::exists(folder / name)) << name;
  }
}

TEST(Reports, TrainingGoesOnWithoutThemAndSaysSoOnce) {
  const auto config = small_config("reference");
  const ScratchFolder folder;
  for (const char* name : {"metrics.csv", "confusion.csv"}) {
    std::filesystem::create_directories(folder / name / "in the way");
  }
  const auto trained = train_alone(config, folder.path());
  ASSERT_TRUE(trained);
  EXPECT_EQ(trained->report.status, TrainStatus::completed);
  int said = 0;
  for (const auto& line : trained->said) {
    if (line.starts_with("metrics.csv loses what comes: cannot write ")) ++said;
  }
  EXPECT_EQ(said, 1);
  EXPECT_TRUE(std::filesystem::is_regular_file(folder / "classes.csv"));
}

}  // namespace
}  // namespace dllaunch
