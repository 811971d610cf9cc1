#include "trainer/data/datasets/cifar_dataset.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/checkpoints/mutation.hpp"
#include "tests/trainer/data/datasets/cifar_bytes.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

Result<std::unique_ptr<Dataset>> open(const std::filesystem::path& folder) {
  DatasetOptions options;
  options.path = folder.string();
  return find_dataset("cifar10")->open(options);
}

TEST(CifarDataset, OrdersFilesByNumber) {
  const ScratchFolder folder;
  write_small_cifar10(folder.path());
  auto dataset = open(folder.path());
  ASSERT_TRUE(dataset) << dataset.error().what;
  EXPECT_EQ((*dataset)->size(Split::train), 20);
  EXPECT_EQ((*dataset)->size(Split::validation), 4);
  EXPECT_EQ((*dataset)->image_shape().channels, 3);
  std::vector<std::uint8_t> pixels((*dataset)->pixels());
  for (const std::size_t i : {0, 11, 12, 18, 19}) {
    auto label = (*dataset)->read(Split::train, static_cast<std::int64_t>(i), pixels);
    ASSERT_TRUE(label);
    EXPECT_EQ(*label, static_cast<int>(i % 10));
    EXPECT_EQ(pixels[0], i * 31 % 251);
    EXPECT_EQ(pixels.back(), (i * 31 + cifar_pixels - 1) % 251);
  }
  EXPECT_EQ(*(*dataset)->read(Split::validation, 3, pixels), 8);
}

TEST(CifarDataset, SearchesTheArchivesFolder) {
  const ScratchFolder folder;
  write_small_cifar10(folder / "cifar-10-batches-bin");
  auto dataset = open(folder.path());
  ASSERT_TRUE(dataset) << dataset.error().what;
  EXPECT_EQ((*dataset)->size(Split::train), 20);
}

/// A sparse file of 100000 images of class 0.
TEST(CifarDataset, MeasuresPartOfALargeSet) {
  const ScratchFolder folder;
  write_small_cifar10(folder.path());
  EXPECT_EQ((*open(folder.path()))->images_to_measure(), 20);
  std::error_code failed;
  std::filesystem::resize_file(folder / "data_batch_2.bin", 100'000 * 3073, failed);
  if (failed) GTEST_SKIP() << "no sparse file of that size here: " << failed.message();
  auto dataset = open(folder.path());
  ASSERT_TRUE(dataset) << dataset.error().what;
  EXPECT_EQ((*dataset)->size(Split::train), 100'013);
  EXPECT_EQ((*dataset)->images_to_measure(), (1 << 28) / 3072);
}

struct Wrong {
  const char* file;
  std::string content;
  std::string what;
};

TEST(CifarDataset, NamesTheFileAndTheError) {
  std::string bad_label = cifar_records(0, 7);
  bad_label[3 * 3073] = 10;
  const std::vector<Wrong> cases = {
      {"data_batch_2.bin", cifar_records(0, 2).substr(1),
       "data_batch_2.bin: 6145 bytes are not a whole number of cifar10 records of 3073 bytes"},
      {"data_batch_10.bin", "", "data_batch_10.bin: 0 bytes"},
      {"data_batch_2.bin", bad_label, "data_batch_2.bin: label 10 of image 3 is out of range 0..9"},
      {"test_batch.bin", "x", "test_batch.bin: 1 bytes"},
  };
  for (const auto& wrong : cases) {
    const ScratchFolder folder;
    write_small_cifar10(folder.path());
    write_text(folder / wrong.file, wrong.content);
    auto dataset = open(folder.path());
    ASSERT_FALSE(dataset) << wrong.what;
    EXPECT_THAT(dataset.error().what, HasSubstr(wrong.what));
    EXPECT_EQ(dataset.error().kind, ErrorKind::bad_request);
  }
}

TEST(CifarDataset, NamesMissingFiles) {
  const ScratchFolder folder;
  EXPECT_THAT(open("").error().what, HasSubstr("dataset.path is missing"));
  EXPECT_THAT(open(folder / "absent").error().what, HasSubstr("absent: no such folder"));
  EXPECT_THAT(open(folder.path()).error().what, HasSubstr("lacks data_batch_*.bin"));
  write_small_cifar10(folder.path());
  std::filesystem::remove(folder / "test_batch.bin");
  EXPECT_THAT(open(folder.path()).error().what, HasSubstr("test_batch.bin: No such file"));
}

TEST(CifarDataset, ReportsAFileThatShrinksDuringReading) {
  const ScratchFolder folder;
  write_small_cifar10(folder.path());
  auto dataset = open(folder.path());
  ASSERT_TRUE(dataset);
  std::filesystem::resize_file(folder / "data_batch_2.bin", 3073);
  std::vector<std::uint8_t> pixels((*dataset)->pixels());
  EXPECT_TRUE((*dataset)->read(Split::train, 12, pixels));
  auto gone = (*dataset)->read(Split::train, 18, pixels);
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().what, HasSubstr("data_batch_2.bin: ends before byte"));
}

TEST(CifarDataset, SurvivesDamage) {
  const ScratchFolder folder;
  write_small_cifar10(folder.path());
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    write_text(folder / "data_batch_2.bin", mutated(cifar_records(12, 7), seed));
    auto dataset = open(folder.path());
    if (!dataset) {
      EXPECT_THAT(dataset.error().what, HasSubstr("data_batch_2.bin: "));
      continue;
    }
    std::vector<std::uint8_t> pixels((*dataset)->pixels());
    for (std::int64_t i = 0; i < (*dataset)->size(Split::train); ++i) {
      auto label = (*dataset)->read(Split::train, i, pixels);
      ASSERT_TRUE(label);
      EXPECT_LT(*label, 10);
    }
  }
}

}  // namespace
}  // namespace dllaunch
