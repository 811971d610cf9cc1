#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/trainer/checkpoints/mutation.hpp"
#include "tests/trainer/data/datasets/npy_bytes.hpp"
#include "tests/trainer/scratch_folder.hpp"
#include "trainer/data/datasets/dataset.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

/// 5 training images of 2x3 with two channels, 2 for validation. Value i of the file is i.
class Npy : public testing::Test {
 protected:
  void SetUp() override {
    write("train_images.npy", "|u1", "(5, 2, 3, 2)", counting<std::uint8_t>(60));
    write("train_labels.npy", "<i8", "(5,)", raw_bytes<std::int64_t>({0, 1, 2, 1, 0}));
    write("val_images.npy", "|u1", "(2, 2, 3, 2)", counting<std::uint8_t>(24));
    write("val_labels.npy", "|u1", "(2,)", raw_bytes<std::uint8_t>({2, 1}));
    options_.path = folder_.path().string();
  }

  template <typename Number>
  static std::string counting(int count) {
    std::vector<Number> numbers;
    for (int i = 0; i < count; ++i) numbers.push_back(static_cast<Number>(i));
    return raw_bytes(numbers);
  }

  void write(const std::string& name, const std::string& descr, const std::string& shape,
             const std::string& data) {
    write_text(folder_ / name, npy_bytes(npy_header_text(descr, shape), data));
  }

  Result<std::unique_ptr<Dataset>> open() { return find_dataset("npy")->open(options_); }

  std::string error() {
    auto dataset = open();
    return dataset ? "" : dataset.error().what;
  }

  ScratchFolder folder_;
  DatasetOptions options_;
};

TEST_F(Npy, ReadsChannelsLast) {
  auto dataset = open();
  ASSERT_TRUE(dataset) << dataset.error().what;
  EXPECT_EQ((*dataset)->size(Split::train), 5);
  EXPECT_EQ((*dataset)->size(Split::validation), 2);
  EXPECT_EQ((*dataset)->classes(), 3);
  EXPECT_EQ((*dataset)->image_shape().channels, 2);
  EXPECT_EQ((*dataset)->image_shape().height, 2);
  EXPECT_EQ((*dataset)->image_shape().width, 3);
  EXPECT_FALSE((*dataset)->floats());
  std::vector<std::uint8_t> pixels(12);
  EXPECT_EQ(*(*dataset)->read(Split::train, 2, pixels), 2);
  EXPECT_EQ(pixels, (std::vector<std::uint8_t>{24, 26, 28, 30, 32, 34, 25, 27, 29, 31, 33, 35}));
}

TEST_F(Npy, ReadsChannelsFirst) {
  options_.layout = "nchw";
  write("train_images.npy", "|u1", "(5, 2, 2, 3)", counting<std::uint8_t>(60));
  write("val_images.npy", "|u1", "(2, 2, 2, 3)", counting<std::uint8_t>(24));
  auto dataset = open();
  ASSERT_TRUE(dataset) << dataset.error().what;
  EXPECT_EQ((*dataset)->image_shape().channels, 2);
  EXPECT_EQ((*dataset)->image_shape().width, 3);
  std::vector<std::uint8_t> pixels(12);
  EXPECT_EQ(*(*dataset)->read(Split::validation, 1, pixels), 1);
  EXPECT_EQ(pixels[0], 12);
  EXPECT_EQ(pixels[11], 23);
}

TEST_F(Npy, ReadsFloatsAndMeasuresThem) {
  write("train_images.npy", "<f4", "(5, 2, 3)", counting<float>(30));
  write("val_images.npy", "<f4", "(2, 2, 3)", counting<float>(12));
  auto dataset = open();
  ASSERT_TRUE(dataset) << dataset.error().what;
  EXPECT_TRUE((*dataset)->floats());
  EXPECT_EQ((*dataset)->image_shape().channels, 1);
  std::vector<float> pixels(6);
  EXPECT_EQ(*(*dataset)->read_floats(Split::train, 4, pixels), 0);
  EXPECT_EQ(pixels, (std::vector<float>{24, 25, 26, 27, 28, 29}));
  auto normalization = measure_normalization(**dataset);
  ASSERT_TRUE(normalization);
  EXPECT_NEAR(normalization->mean[0], 14.5, 1e-12);
  EXPECT_NEAR(normalization->std[0], std::sqrt((30.0 * 30 - 1) / 12), 1e-12);
}

TEST_F(Npy, NamesTheImageWithANonFiniteValue) {
  std::vector<float> numbers(30, 1.0F);
  numbers[20] = std::numeric_limits<float>::quiet_NaN();
  write("train_images.npy", "<f4", "(5, 2, 3)", raw_bytes(numbers));
  write("val_images.npy", "<f4", "(2, 2, 3)", counting<float>(12));
  auto dataset = open();
  ASSERT_TRUE(dataset) << dataset.error().what;
  std::vector<float> pixels(6);
  EXPECT_TRUE((*dataset)->read_floats(Split::train, 2, pixels));
  auto bad = (*dataset)->read_floats(Split::train, 3, pixels);
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().what, HasSubstr("train_images.npy: image 3 holds a NaN"));
}

TEST_F(Npy, TakesTheNumberOfClassesFromTheUser) {
  options_.classes = 10;
  EXPECT_EQ((*open())->classes(), 10);
  options_.classes = 2;
  EXPECT_THAT(error(), HasSubstr("train_labels.npy: label 2 of image 2 is out of range 0..1"));
}

TEST_F(Npy, ReadsLabelsOfAnyIntegerType) {
  write("train_labels.npy", "<u2", "(5,)", raw_bytes<std::uint16_t>({0, 1, 300, 1, 0}));
  EXPECT_EQ((*open())->classes(), 301);
  write("train_labels.npy", "|i1", "(5,)", raw_bytes<std::int8_t>({0, 1, 2, -3, 0}));
  EXPECT_THAT(error(), HasSubstr("label -3 of image 3 is out of range 0..2"));
  write("val_labels.npy", "<i8", "(2,)", raw_bytes<std::int64_t>({1, std::int64_t{1} << 40}));
  write("train_labels.npy", "<i4", "(5,)", raw_bytes<std::int32_t>({0, 1, 2, 1, 0}));
  EXPECT_THAT(error(), HasSubstr("val_labels.npy: label 2147483647 of image 1 is out of range"));
}

TEST_F(Npy, NamesTheFileAndTheError) {
  write("train_labels.npy", "<i8", "(4,)", raw_bytes<std::int64_t>({0, 1, 2, 1}));
  EXPECT_THAT(error(), HasSubstr("train_labels.npy: labels have shape (4), there are 5 images"));
  SetUp();
  write("train_images.npy", "<i4", "(5, 2, 3)", counting<std::int32_t>(30));
  EXPECT_THAT(error(), HasSubstr("train_images.npy: images are of type i4"));
  write("train_images.npy", "|u1", "(60,)", counting<std::uint8_t>(60));
  EXPECT_THAT(error(), HasSubstr("train_images.npy: images have shape (60), not (n, height"));
  write("train_images.npy", "|u1", "(0, 2, 3, 2)", "");
  EXPECT_THAT(error(), HasSubstr("train_images.npy: holds no images"));
  SetUp();
  write("val_images.npy", "|u1", "(2, 3, 2, 2)", counting<std::uint8_t>(24));
  EXPECT_THAT(error(), HasSubstr("training and validation images differ in shape"));
  std::filesystem::remove(folder_ / "val_images.npy");
  EXPECT_THAT(error(), HasSubstr("val_images.npy: No such file"));
  options_.path = "";
  EXPECT_EQ(error(), "dataset.path is missing");
}

TEST_F(Npy, ReadsClassSetsAndRealNumbers) {
  write("train_labels.npy", "|b1", "(5, 4)", std::string(20, '\1'));
  EXPECT_THAT(error(), HasSubstr("training and validation labels differ in shape or kind"));
  write("val_labels.npy", "<i8", "(2, 4)", raw_bytes<std::int64_t>({0, 1, 1, 0, 0, 0, 0, 1}));
  options_.classes = 5;
  EXPECT_THAT(error(), HasSubstr("has 4 numbers for each image, dataset.classes is 5"));
  options_.classes = {};
  auto sets = open();
  ASSERT_TRUE(sets) << sets.error().what;
  EXPECT_EQ((*sets)->targets(), TargetKind::class_set);
  EXPECT_EQ((*sets)->classes(), 4);
  std::vector<float> row(4);
  ASSERT_TRUE((*sets)->read_targets(Split::validation, 1, row));
  EXPECT_EQ(row, (std::vector<float>{0, 0, 0, 1}));
  std::vector<std::uint8_t> pixels(12);
  EXPECT_EQ(*(*sets)->read(Split::train, 4, pixels), 0);

  write("train_labels.npy", "<f8", "(5,)", raw_bytes<double>({0.5, -1, 2, 3, 4}));
  write("val_labels.npy", "<f4", "(2, 1)", raw_bytes<float>({7, 8}));
  auto values = open();
  ASSERT_TRUE(values) << values.error().what;
  EXPECT_EQ((*values)->targets(), TargetKind::values);
  EXPECT_EQ((*values)->classes(), 1);
  ASSERT_TRUE((*values)->read_targets(Split::train, 1, std::span(row).first(1)));
  EXPECT_EQ(row[0], -1);
}

TEST_F(Npy, SurvivesDamage) {
  const std::string images = read_text(folder_ / "train_images.npy");
  const std::string labels = read_text(folder_ / "train_labels.npy");
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    write_text(folder_ / "train_images.npy", mutated(images, seed));
    if (seed % 2 == 1) write_text(folder_ / "train_labels.npy", mutated(labels, seed + 1));
    auto dataset = open();
    if (!dataset || (*dataset)->floats()) continue;
    std::vector<std::uint8_t> pixels((*dataset)->pixels());
    for (std::int64_t i = 0; i < (*dataset)->size(Split::train); ++i) {
      auto label = (*dataset)->read(Split::train, i, pixels);
      ASSERT_TRUE(label);
      EXPECT_LT(*label, (*dataset)->classes());
    }
  }
}

/// A sparse file larger than memory.
TEST_F(Npy, ReadsAFileLargerThanMemory) {
  constexpr std::int64_t images = 50'000;
  const std::string head = npy_bytes(npy_header_text("|u1", "(50000, 1024, 1024, 1)"), "");
  write_text(folder_ / "train_images.npy", head);
  std::error_code failed;
  std::filesystem::resize_file(folder_ / "train_images.npy", head.size() + (images << 20), failed);
  if (failed) GTEST_SKIP() << "no sparse files here: " << failed.message();
  write("train_labels.npy", "|u1", "(50000,)", std::string(images, '\1'));
  write("val_images.npy", "|u1", "(1, 1024, 1024)", std::string(1 << 20, 'x'));
  write("val_labels.npy", "|u1", "(1,)", raw_bytes<std::uint8_t>({1}));
  auto dataset = open();
  ASSERT_TRUE(dataset) << dataset.error().what;
  std::vector<std::uint8_t> pixels((*dataset)->pixels(), 1);
  EXPECT_EQ(*(*dataset)->read(Split::train, images - 1, pixels), 1);
  EXPECT_EQ(pixels[12345], 0);
  EXPECT_LE((*dataset)->images_to_measure(), 64);
}

}  // namespace
}  // namespace dllaunch
