#include "trainer/reports/tensorboard.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <limits>
#include <numeric>
#include <random>

#include "tests/trainer/checkpoints/size_limit.hpp"
#include "tests/trainer/reports/event_file.hpp"
#include "tests/trainer/scratch_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

Fields only_record(const std::string& text) {
  const Records records = records_of(text);
  EXPECT_FALSE(records.damaged);
  EXPECT_EQ(records.rest, 0u);
  EXPECT_EQ(records.data.size(), 1u);
  return records.data.empty() ? Fields() : fields_of(records.data[0]);
}

const Field& one(const Fields& fields, int number) {
  static const Field none;
  EXPECT_EQ(fields.count(number), 1u) << "field " << number;
  return fields.count(number) == 1 ? fields.find(number)->second : none;
}

TEST(TensorBoard, ScalarsAreEventsOfTheirStep) {
  const std::vector<Scalar> scalars{{"loss", 0.5}, {"val_loss", std::nan("")}};
  const Fields event = only_record(scalars_record(1700000000.25, 5'000'000'000, scalars));
  EXPECT_EQ(one(event, 1).real(), 1700000000.25);
  EXPECT_EQ(one(event, 2).bits, 5'000'000'000U);
  const Fields summary = fields_of(one(event, 5).bytes);
  ASSERT_EQ(summary.count(1), 2u);
  const Fields loss = fields_of(summary.find(1)->second.bytes);
  EXPECT_EQ(one(loss, 1).bytes, "loss");
  EXPECT_EQ(one(loss, 2).single(), 0.5F);
  EXPECT_TRUE(std::isnan(one(fields_of(std::next(summary.find(1))->second.bytes), 2).single()));
}

TEST(TensorBoard, AFileStartsWithItsVersionAndTheFirstStep) {
  EXPECT_EQ(one(only_record(version_record(1)), 3).bytes, "brain.Event:2");
  const Fields begin = only_record(begin_record(1, 31));
  EXPECT_EQ(one(begin, 2).bits, 31u);
  EXPECT_EQ(one(fields_of(one(begin, 7).bytes), 1).bits, 1u);  // SessionLog START
}

TEST(TensorBoard, SettingsAreATableAndARow) {
  const std::vector<Setting> settings{
      {"model", std::string("a|b")}, {"lr", 0.1}, {"flip", true}, {"empty", std::string()}};
  const Fields summary = fields_of(one(only_record(settings_record(2, 0, settings)), 5).bytes);
  ASSERT_EQ(summary.count(1), 2u);
  const Fields text = fields_of(summary.find(1)->second.bytes);
  EXPECT_EQ(one(fields_of(one(text, 8).bytes), 8).bytes,
            "| key | value |\n| --- | --- |\n| model | a\\|b |\n| lr | 0.1 |\n| flip | true |\n"
            "| empty |  |\n");
}

TEST(TensorBoard, HistogramsCountEveryFiniteNumberOnce) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal(3, 2);
  for (int round = 0; round < 100; ++round) {
    std::vector<double> values(random() % 300);
    for (double& value : values) {
      value = normal(random);
      if (random() % 10 == 0) value = std::numeric_limits<double>::infinity();
      if (random() % 10 == 0) value = std::nan("");
    }
    const Histogram made = make_histogram("w", values);
    std::erase_if(values, [](double value) { return !std::isfinite(value); });
    ASSERT_EQ(made.counts.size(), 30u);
    EXPECT_EQ(std::accumulate(made.counts.begin(), made.counts.end(), 0.0),
              static_cast<double>(values.size()));
    if (values.empty()) continue;
    EXPECT_EQ(made.least, *std::ranges::min_element(values));
    EXPECT_EQ(made.most, *std::ranges::max_element(values));
    EXPECT_NEAR(made.sum, std::accumulate(values.begin(), values.end(), 0.0), 1e-9);
    // Every number is within a rounding error of its bin.
    const double width = (made.most - made.least) / 30;
    for (std::size_t bin = 0; bin < 30; ++bin) {
      const double low = made.least + width * static_cast<double>(bin);
      const auto within = [&](double slack) {
        return std::ranges::count_if(values, [&](double value) {
          return value >= low - slack && (bin == 29 || value < low + width + slack);
        });
      };
      EXPECT_LE(made.counts[bin], within(1e-9));
      EXPECT_GE(made.counts[bin], within(-1e-9));
    }
  }
}

TEST(TensorBoard, HistogramsOfOddNumbers) {
  const double most = std::numeric_limits<double>::max();
  const Histogram wide = make_histogram("w", std::vector<double>{-most, 0, most});
  EXPECT_EQ(wide.counts[0], 1);
  EXPECT_EQ(wide.counts[15], 1);
  EXPECT_EQ(wide.counts[29], 1);
  EXPECT_EQ(make_histogram("w", std::vector<double>{2, 2, 2}).counts[29], 3);
  const std::vector<Histogram> histograms{wide, make_histogram("none", {})};
  const Fields summary = fields_of(one(only_record(histograms_record(1, 2, histograms)), 5).bytes);
  const Fields histo = fields_of(one(fields_of(summary.find(1)->second.bytes), 5).bytes);
  EXPECT_EQ(one(histo, 1).real(), -most);
  EXPECT_EQ(one(histo, 3).real(), 3);
  EXPECT_EQ(one(histo, 6).bytes.size(), 240u);
  double last = 0;
  std::memcpy(&last, one(histo, 6).bytes.data() + 232, 8);
  EXPECT_EQ(last, most);
}

TEST(TensorBoard, EachFileComesAfterTheOthers) {
  const ScratchFolder folder;
  write_text(folder / "events.out.tfevents.4000000000.n1.7.0", "");  // from a wrong clock
  write_text(folder / "events.out.tfevents.99999999999.n1.7.0", "");
  write_text(folder / "events.out.tfevents.x", "");
  std::vector<std::string> names;
  for (int i = 0; i < 3; ++i) {
    auto board = TensorBoard::open(folder.path(), "n1");
    ASSERT_TRUE(board) << board.error().what;
    names.push_back(board->file().filename().string());
  }
  EXPECT_TRUE(names[0].starts_with("events.out.tfevents.4000000001.n1.")) << names[0];
  EXPECT_TRUE(std::ranges::is_sorted(names));
  EXPECT_FALSE(TensorBoard::open("/dev/null/x", "n1"));
}

TEST(TensorBoard, AFullDiskLeavesWholeRecords) {
  const ScratchFolder folder;
  auto board = TensorBoard::open(folder / "tensorboard", "n1");
  ASSERT_TRUE(board);
  const std::vector<Scalar> scalars{{"loss", 0.5}};
  const std::string record = scalars_record(1, 1, scalars);
  {
    const SizeLimit full(record.size() * 5 / 2);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(static_cast<bool>(board->write(record)), i < 2);
  }
  EXPECT_TRUE(board->write(record));  // space is available again
  const Records records = records_of(read_text(board->file()));
  EXPECT_FALSE(records.damaged);
  EXPECT_EQ(records.rest, 0u);
  EXPECT_EQ(records.data.size(), 3u);
}

bool has_bytes(const fs::path& folder) {
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator(folder, gone)) {
    if (entry.file_size(gone) > 0) return true;
  }
  return false;
}

TEST(TensorBoard, AKilledWriterLeavesWholeRecords) {
  std::size_t written = 0;
  for (int round = 0; round < 10; ++round) {
    const ScratchFolder folder;
    const pid_t writer = fork();
    if (writer == 0) {
      auto board = TensorBoard::open(folder.path(), "n1");
      for (std::int64_t step = 1; board; ++step) {
        const std::vector<Scalar> scalars{{"step/loss", static_cast<double>(step)}};
        if (!board->write(scalars_record(1, step, scalars))) _exit(1);
      }
      _exit(1);
    }
    constexpr auto patience = std::chrono::seconds(20);  // a busy machine
    const auto begin = std::chrono::steady_clock::now();
    while (!has_bytes(folder.path()) && std::chrono::steady_clock::now() - begin < patience) {
      usleep(1'000);
    }
    usleep(static_cast<useconds_t>(700 * round));
    kill(writer, SIGKILL);
    int status = 0;
    waitpid(writer, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    const auto file = fs::directory_iterator(folder.path());
    ASSERT_NE(file, fs::directory_iterator());
    const Records records = records_of(read_text(file->path()));
    EXPECT_FALSE(records.damaged);
    EXPECT_LT(records.rest, 64u);  // at most one partly written record
    std::uint64_t step = 0;
    for (const auto& data : records.data) {
      ASSERT_EQ(one(fields_of(data), 2).bits, ++step);
    }
    written += records.data.size();
  }
  EXPECT_GE(written, 10u);  // otherwise nothing was tested above
}

}  // namespace
}  // namespace dllaunch
