#include "trainer/training/reports.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "tests/trainer/reports/event_file.hpp"
#include "tests/trainer/training/run_program.hpp"
#include "tests/trainer/training/small_training.hpp"

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

/// Returns the columns of a row that do not depend on time.
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
  EXPECT_THAT(rows[0], ElementsAre("epoch", "step", "loss", "accuracy", "val_loss", "val_accuracy",
                                   "val_top5_accuracy", "val_f1_macro", "val_f1_micro",
                                   "val_mean_absolute_error", "val_mean_squared_error", "lr",
                                   "seconds", "images_per_s"));
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

TEST(Reports, AResumedRunHasTheTableOfAnUninterruptedOne) {
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
      if (stop_after == 7 && i == 1)
        expected[11] = "NA";  // lr: the resume found the epoch
                              // complete
      EXPECT_EQ(steady(parts[i]), expected);
    }
  }
}

TEST(Reports, RepeatedEpochsHaveOneRow) {
  auto config = small_config("reference");
  config.epochs = 3;
  config.checkpoint.every_epochs = 9;  // so the only one is at the end
  const ScratchFolder folder;
  ASSERT_TRUE(train_alone(config, folder.path()));
  const auto before = rows_of(folder / "metrics.csv");
  std::filesystem::remove_all(folder / "checkpoints");  // killed before it was written
  ASSERT_TRUE(train_alone(config, folder.path()));
  const auto after = rows_of(folder / "metrics.csv");
  ASSERT_EQ(after.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(steady(after[i]), steady(before[i]));
  EXPECT_EQ(events_of(folder.path(), "epoch").size(), 6u);  // events record all that happened
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

std::vector<std::filesystem::path> event_files(const std::filesystem::path& run_dir) {
  std::vector<std::filesystem::path> files;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(run_dir / "tensorboard", absent)) {
    files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

/// Returns the number of histograms in an event file, by tag.
std::map<std::string, int> histograms_in(const std::filesystem::path& file) {
  std::map<std::string, int> found;
  for (const auto& record : records_of(read_text(file)).data) {
    const Fields event = fields_of(record);
    const auto summary = event.find(5);
    if (summary == event.end()) continue;
    for (const auto& [number, value] : fields_of(summary->second.bytes)) {
      const Fields fields = fields_of(value.bytes);
      if (fields.contains(5)) ++found[fields.find(1)->second.bytes];
    }
  }
  return found;
}

TEST(Reports, HistogramsComeAsOftenAsConfigured) {
  auto config = small_config("reference");
  config.epochs = 3;
  const ScratchFolder folder;
  for (const std::int64_t every : {0, 1, 2}) {
    config.reports.histograms_every = every;
    const auto run_dir = folder / std::to_string(every);
    ASSERT_TRUE(train_alone(config, run_dir));
    const auto found = histograms_in(event_files(run_dir).at(0));
    EXPECT_EQ(found.size(), every == 0 ? 0u : 20u);
    for (const auto& [tag, times] : found) EXPECT_EQ(times, every == 1 ? 3 : 2) << tag;
  }
}

/// Stopped after the last step of an epoch: the resumed process ends the epoch without a step.
TEST(Reports, AnEpochFoundCompleteHasNoGradients) {
  auto config = small_config("reference");
  config.reports.histograms_every = 1;
  const ScratchFolder folder;
  ASSERT_TRUE(train_alone(config, folder.path(), 7));
  ASSERT_TRUE(train_alone(config, folder.path()));
  auto found = histograms_in(event_files(folder.path()).at(1));
  EXPECT_EQ(found["weights/conv1.weight"], 2);
  EXPECT_EQ(found["gradients/conv1.weight"], 1);
}

/// Saves after each step: training time plus saving time must not exceed the epoch.
TEST(Reports, CheckpointsWithinAnEpochDoNotCountAsTraining) {
  auto config = small_config("reference");
  config.validate_every = 0;
  config.checkpoint.every_minutes = 1e-9;
  const ScratchFolder folder;
  ASSERT_TRUE(train_alone(config, folder.path()));
  const auto checkpoints = events_of(folder.path(), "checkpoint");
  for (const auto& epoch : events_of(folder.path(), "epoch")) {
    double saving_s = 0;
    int saved = 0;
    for (const auto& checkpoint : checkpoints) {
      // The checkpoint at the end of the epoch is not part of its time.
      if (checkpoint["step"] >= epoch["step"] || checkpoint["step"] < epoch["step"].get<int>() - 6)
        continue;
      saving_s += checkpoint["seconds_blocked"].get<double>();
      ++saved;
    }
    EXPECT_GE(saved, 1);  // depends on the disk
    const double training_s = epoch["images"].get<double>() / epoch["images_per_s"].get<double>();
    EXPECT_LE(training_s + saving_s, epoch["seconds"].get<double>());
  }
}

TEST(Reports, EventFilesAreValid) {
  const auto config = small_config("reference");
  const ScratchFolder folder;
  ASSERT_TRUE(train_alone(config, folder.path(), 3));
  ASSERT_TRUE(train_alone(config, folder.path()));
  const auto files = event_files(folder.path());
  ASSERT_EQ(files.size(), 2u);
  for (const auto& file : files) {
    const Records records = records_of(read_text(file));
    EXPECT_FALSE(records.damaged);
    EXPECT_EQ(records.rest, 0u);
    ASSERT_GT(records.data.size(), 3u);
    EXPECT_EQ(fields_of(records.data[0]).find(3)->second.bytes, "brain.Event:2");
  }
}

/// TensorBoard itself reads the files of two processes of one training.
TEST(Reports, TensorBoardShowsTheNumbersOfTheEvents) {
  const std::string venv = DLLAUNCH_SOURCE_DIR "/build/frameworks/tensorboard";
  if (!std::filesystem::exists(venv + "/complete")) {
    GTEST_SKIP() << "no TensorBoard: scripts/framework-venvs build/frameworks tensorboard";
  }
  auto config = small_config("reference");
  config.epochs = 3;
  config.checkpoint.every_epochs = 2;
  config.reports.histograms_every = 2;
  config.settings = {{"optimizer.lr", 0.02}, {"model", std::string("lenet")}, {"flip", false}};
  const ScratchFolder folder;
  auto shorter = config;
  shorter.epochs = 2;
  ASSERT_TRUE(train_alone(shorter, folder.path()));
  // The restart goes back: without the checkpoint of step 14, all is trained again.
  std::filesystem::remove_all(folder / "checkpoints");
  ASSERT_TRUE(train_alone(config, folder.path(), 10));
  ASSERT_TRUE(train_alone(config, folder.path()));
  ASSERT_EQ(event_files(folder.path()).size(), 3u);

  const auto ended = run_program({venv + "/bin/python",
                                  DLLAUNCH_SOURCE_DIR "/tests/trainer/training/read_tensorboard.py",
                                  (folder / "tensorboard").string()});
  ASSERT_EQ(ended.exit_code, 0) << ended.output;
  const auto json = ended.output.find("{\"scalars\"");
  ASSERT_NE(json, std::string::npos) << ended.output;
  const auto shown = Json::parse(ended.output.substr(json));
  for (const auto& [tag, points] : shown["scalars"].items()) {
    ASSERT_FALSE(points.empty()) << tag;
    for (std::size_t i = 1; i < points.size(); ++i) {
      EXPECT_GT(points[i][0], points[i - 1][0]) << tag << " has a step twice";
    }
    EXPECT_LE(points.back()[0], 21) << tag;
  }
  const auto epochs = events_of(folder.path(), "epoch");
  for (const char* tag : {"epoch", "loss", "accuracy", "val_loss", "val_accuracy",
                          "val_top5_accuracy", "val_f1_macro", "lr", "seconds", "images_per_s"}) {
    const auto& points = shown["scalars"][tag];
    ASSERT_EQ(points.size(), 3u) << tag;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto& event = epochs[epochs.size() - 3 + i];
      EXPECT_EQ(points[i][0], event["step"]);
      EXPECT_FLOAT_EQ(points[i][1].get<float>(), event[tag].get<float>()) << tag;
    }
  }
  for (const char* tag : {"step/loss", "step/lr", "step/images_per_s"}) {
    EXPECT_GE(shown["scalars"][tag].size(), 2u) << tag;
  }
  EXPECT_EQ(shown["histograms"].size(), 20u);  // weights and gradients of lenet's ten parameters
  for (const char* tag : {"weights/conv1.weight", "gradients/conv1.weight"}) {
    const auto& points = shown["histograms"][tag];
    ASSERT_EQ(points.size(), 2u) << tag;  // after the second and the last epoch
    EXPECT_EQ(points[0][0], 14);
    EXPECT_EQ(points[1][0], 21);
    EXPECT_EQ(points[1][3], 150) << "6 filters of 5 x 5";
    EXPECT_EQ(points[1][6], 150);
    EXPECT_LT(points[1][1], points[1][2]);
  }
  EXPECT_THAT(shown["texts"], ElementsAre("settings"));
  EXPECT_THAT(shown["settings"].get<std::string>(),
              testing::HasSubstr("| optimizer.lr | 0.02 |\n"));
  EXPECT_EQ(shown["hparams"]["optimizer.lr"], 0.02);
  EXPECT_EQ(shown["hparams"]["model"], "lenet");
  EXPECT_EQ(shown["hparams"]["flip"], false);
  EXPECT_EQ(shown["hparams"]["global_batch"], 16);
}

TEST(Reports, AreLeftOutOnRequest) {
  auto config = small_config("reference");
  config.reports = {.csv = false, .tensorboard = false};
  const ScratchFolder folder;
  ASSERT_TRUE(train_alone(config, folder.path()));
  for (const char* name : {"metrics.csv", "confusion.csv", "classes.csv", "tensorboard"}) {
    EXPECT_FALSE(std::filesystem::exists(folder / name)) << name;
  }
}

TEST(Reports, TrainingContinuesWithoutThemAndReportsItOnce) {
  const auto config = small_config("reference");
  const ScratchFolder folder;
  for (const char* name : {"metrics.csv", "confusion.csv"}) {
    std::filesystem::create_directories(folder / name / "in the way");
  }
  write_text(folder / "tensorboard", "a file in the way");
  const auto trained = train_alone(config, folder.path());
  ASSERT_TRUE(trained);
  EXPECT_EQ(trained->report.status, TrainStatus::completed);
  for (const std::string what : {"metrics.csv", "confusion.csv", "tensorboard"}) {
    EXPECT_EQ(std::ranges::count_if(trained->said,
                                    [&](const std::string& line) {
                                      return line.starts_with(
                                          what + " is incomplete from here on: cannot ");
                                    }),
              1)
        << what;
  }
  EXPECT_TRUE(std::filesystem::is_regular_file(folder / "classes.csv"));
}

}  // namespace
}  // namespace dllaunch
