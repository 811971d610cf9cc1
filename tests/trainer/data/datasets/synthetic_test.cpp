#include <gtest/gtest.h>

#include <set>

#include "trainer/data/datasets/dataset.hpp"
#include "trainer/data/loader.hpp"
#include "trainer/data/sampler.hpp"

namespace dllaunch {
namespace {

std::unique_ptr<Dataset> make(std::uint64_t seed, std::int64_t images = 200) {
  DatasetOptions options;
  options.images = images;
  options.classes = 5;
  options.channels = 3;
  options.image_size = 12;
  options.seed = seed;
  return *find_dataset("synthetic")->open(options);
}

std::vector<std::uint8_t> image(const Dataset& dataset, Split split, std::int64_t index) {
  std::vector<std::uint8_t> pixels(dataset.pixels());
  EXPECT_TRUE(dataset.read(split, index, pixels));
  return pixels;
}

TEST(Synthetic, HasTheRequestedSizes) {
  auto dataset = make(1);
  EXPECT_EQ(dataset->size(Split::train), 200);
  EXPECT_EQ(dataset->size(Split::validation), 20);
  EXPECT_EQ(make(1, 3)->size(Split::validation), 1);
  EXPECT_EQ(dataset->classes(), 5);
  EXPECT_EQ(dataset->pixels(), 3u * 12 * 12);
}

TEST(Synthetic, DependsOnlyOnSeedAndIndex) {
  EXPECT_EQ(image(*make(1), Split::train, 7), image(*make(1), Split::train, 7));
  EXPECT_NE(image(*make(1), Split::train, 7), image(*make(2), Split::train, 7));
  EXPECT_NE(image(*make(1), Split::train, 7), image(*make(1), Split::train, 8));
  EXPECT_NE(image(*make(1), Split::train, 7), image(*make(1), Split::validation, 7));
}

TEST(Synthetic, EveryClassOccurs) {
  auto dataset = make(1);
  std::vector<std::uint8_t> pixels(dataset->pixels());
  std::set<std::int32_t> labels;
  for (std::int64_t i = 0; i < 200; ++i) labels.insert(*dataset->read(Split::train, i, pixels));
  EXPECT_EQ(labels, (std::set<std::int32_t>{0, 1, 2, 3, 4}));
}

/// 6e9 images of 12 MiB: image counts, pixels and positions exceed 32 bits, bytes exceed 2^55.
TEST(Synthetic, CountsBeyondThirtyTwoBits) {
  constexpr std::int64_t images = 6'000'000'000;
  DatasetOptions options;
  options.images = images;
  options.channels = 3;
  options.image_size = 2048;
  auto dataset = *find_dataset("synthetic")->open(options);
  EXPECT_EQ(dataset->size(Split::train), images);
  EXPECT_EQ(dataset->size(Split::validation), images / 10);
  const auto last = image(*dataset, Split::train, images - 1);
  EXPECT_EQ(last.size(), 3u * 2048 * 2048);
  EXPECT_NE(last, image(*dataset, Split::train, images - 1 - (std::int64_t{1} << 32)));
  const StepShape shape{.ranks = 7, .batch_size = 2};
  constexpr std::int64_t position = images - images % 14;
  for (int rank = 0; rank < 7; ++rank) {
    Loader loader(
        *dataset, {.mean = {0, 0, 0}, .std = {1, 1, 1}}, {},
        deal_step(images, shape, position, rank),
        {.workers = 1, .batch_size = 2, .preparation = {.image_size = 4, .crop = 1, .flip = true}});
    auto batch = loader.next();
    ASSERT_TRUE(batch);
    EXPECT_LE(batch->count, 2);
    if (rank < 6) continue;
    std::vector<std::uint8_t> pixels(dataset->pixels());
    EXPECT_EQ(batch->labels[static_cast<std::size_t>(batch->count - 1)],
              *dataset->read(Split::train, images - 1, pixels));
  }
}

TEST(Synthetic, MeasuresAPrefixOfALargeSet) {
  auto dataset = make(1, std::int64_t{3'000'000'000});
  EXPECT_LT(dataset->images_to_measure(), 200'000);
  EXPECT_FALSE(image(*dataset, Split::train, 2'999'999'999).empty());
}

}  // namespace
}  // namespace dllaunch
