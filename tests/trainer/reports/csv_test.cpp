#include "trainer/reports/csv.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "tests/trainer/checkpoints/size_limit.hpp"
#include "tests/trainer/scratch_folder.hpp"

namespace dllaunch {
namespace {

constexpr std::array<std::string_view, 2> columns = {"loss", "accuracy"};
const std::string header = "epoch,loss,accuracy\n";

Result<Ok> append(EpochTable& csv, std::int64_t epoch, std::optional<double> loss,
                  std::optional<double> accuracy = {}) {
  return csv.append(epoch, std::vector{loss, accuracy});
}

TEST(Csv, QuotesFieldsIfNecessary) {
  EXPECT_EQ(csv_field("T-shirt/top"), "T-shirt/top");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"a\""), "\"say \"\"a\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csv_field(""), "");
}

TEST(Csv, NumbersReadBackAsTheSame) {
  for (const double number : {0.1, 1e-300, -2.5, 1.0 / 3, 12345678.9, 5e-324}) {
    EXPECT_EQ(std::strtod(csv_field(number).c_str(), nullptr), number);
  }
  EXPECT_EQ(csv_field(std::optional<double>()), "NA");
  EXPECT_EQ(csv_field(std::nan("")), "nan");
  EXPECT_EQ(csv_field(std::numeric_limits<double>::infinity()), "inf");
}

TEST(Csv, AResumedRunContinuesBelowTheRowsItKeeps) {
  const ScratchFolder folder;
  const auto file = folder / "metrics.csv";
  EpochTable first(file, columns);
  for (int epoch = 1; epoch <= 4; ++epoch) ASSERT_TRUE(append(first, epoch, 1.0 / epoch, 0.5));
  EXPECT_EQ(read_text(file), header + "1,1,0.5\n2,0.5,0.5\n3,0.3333333333333333,0.5\n4,0.25,0.5\n");

  EpochTable resumed(file, columns);  // from a checkpoint after epoch 2
  ASSERT_TRUE(append(resumed, 3, 9, {}));
  ASSERT_TRUE(append(resumed, 4, 8, {}));
  EXPECT_EQ(read_text(file), header + "1,1,0.5\n2,0.5,0.5\n3,9,NA\n4,8,NA\n");

  EpochTable anew(file, columns);
  ASSERT_TRUE(append(anew, 1, 7));
  EXPECT_EQ(read_text(file), header + "1,7,NA\n");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

/// A previous incarnation that is still running appends below the rows of this one.
TEST(Csv, RemovesLateRowsOfAnEarlierIncarnation) {
  const ScratchFolder folder;
  const auto file = folder / "metrics.csv";
  EpochTable orphan(file, columns);
  for (int epoch = 1; epoch <= 3; ++epoch) ASSERT_TRUE(append(orphan, epoch, epoch));
  EpochTable ours(file, columns);  // from a checkpoint after epoch 2
  ASSERT_TRUE(append(ours, 3, 30));
  ASSERT_TRUE(append(orphan, 4, 4));
  ASSERT_TRUE(append(ours, 4, 40));
  ASSERT_TRUE(append(ours, 5, 50));
  EXPECT_EQ(read_text(file), header + "1,1,NA\n2,2,NA\n3,30,NA\n4,40,NA\n5,50,NA\n");
  std::filesystem::remove(file);
  ASSERT_TRUE(append(ours, 6, 60));
  EXPECT_EQ(read_text(file), header + "6,60,NA\n");
}

TEST(Csv, RemovesATornRow) {
  const ScratchFolder folder;
  write_text(folder / "metrics.csv", header + "1,1,0.5\n2,0.");
  EpochTable csv(folder / "metrics.csv", columns);
  ASSERT_TRUE(append(csv, 3, 2));
  EXPECT_EQ(read_text(folder / "metrics.csv"), header + "1,1,0.5\n3,2,NA\n");
}

TEST(Csv, ATableWithOtherColumnsIsSetAside) {
  const ScratchFolder folder;
  const auto file = folder / "metrics.csv";
  for (const std::string other : {"epoch,loss\n1,2\n", "my notes"}) {
    write_text(file, other);
    EpochTable csv(file, columns);
    ASSERT_TRUE(append(csv, 1, 2));
    EXPECT_EQ(read_text(file), header + "1,2,NA\n");
  }
  EXPECT_EQ(read_text(folder / "metrics.csv.1"), "epoch,loss\n1,2\n");
  EXPECT_EQ(read_text(folder / "metrics.csv.2"), "my notes");
}

TEST(Csv, ReportsAFileThatCannotBeWritten) {
  const ScratchFolder folder;
  std::filesystem::create_directories(folder / "metrics.csv" / "in the way");
  EpochTable csv(folder / "metrics.csv", columns);
  const auto refused = append(csv, 1, 2);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("cannot write " + (folder / "metrics.csv").string()),
            std::string::npos)
      << refused.error().what;
}

/// The disk is full at the first epoch that is trained again: its old row is removed all the same.
TEST(Csv, AFailedWriteDoesNotKeepTheOldRow) {
  const ScratchFolder folder;
  const auto file = folder / "metrics.csv";
  write_text(file, header + "1,1,0.5\n2,2,0.5\n3,3,0.5\n4,4,0.5\n");
  EpochTable csv(file, columns);
  {
    const SizeLimit full(0);
    EXPECT_FALSE(append(csv, 2, 9));
  }
  ASSERT_TRUE(append(csv, 3, 8));
  EXPECT_EQ(read_text(file), header + "1,1,0.5\n3,8,NA\n");
}

TEST(Csv, TablesOfClasses) {
  Metrics metrics(3);
  metrics.add(std::vector<double>{9, 1, 1, 9, 1, 1, 1, 9, 1}, std::vector<std::int32_t>{0, 1, 1});
  const std::vector<std::string> names{"cat", "dog, big", "none"};
  EXPECT_EQ(render_confusion(metrics, names),
            "actual,cat,\"dog, big\",none\ncat,1,0,0\n\"dog, big\",1,1,0\nnone,0,0,0\n");
  EXPECT_EQ(render_classes(metrics, names),
            "class,images,predicted,precision,recall,f1\n"
            "cat,1,2,0.5,1,0.6666666666666666\n"
            "\"dog, big\",2,1,1,0.5,0.6666666666666666\n"
            "none,0,0,NA,NA,NA\n");
}

}  // namespace
}  // namespace dllaunch
