#include <gtest/gtest.h>

#include <set>

#include "support/random.hpp"
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

/// The formula of every pixel, written out: runs of other versions are compared with these images.
std::vector<std::uint8_t> image_by_formula(int size, std::uint64_t serial, std::uint64_t label) {
  const std::uint64_t cell_key = random_key(3, "synthetic cells");
  const std::uint64_t noise_key = random_key(3, "synthetic noise") ^ mix_bits(serial);
  std::vector<std::uint8_t> pixels;
  for (std::uint64_t c = 0; c < 3; ++c) {
    for (int y = 0; y < size; ++y) {
      for (int x = 0; x < size; ++x) {
        const int cell = y * 8 / size * 8 + x * 8 / size;
        const int mean = ((random_bits(cell_key, label * 3 + c) >> cell) & 1) != 0 ? 160 : 96;
        const std::uint64_t at = pixels.size();
        const std::uint64_t noise = (random_bits(noise_key, at / 8) >> (at % 8 * 8)) & 127;
        pixels.push_back(static_cast<std::uint8_t>(mean + static_cast<int>(noise) - 64));
      }
    }
  }
  return pixels;
}

TEST(Synthetic, EveryPixelIsThatOfTheFormula) {
  for (const int size : {1, 2, 7, 8, 9, 12, 17, 28, 224}) {
    DatasetOptions options{.path = "", .images = 9};
    options.channels = 3;
    options.image_size = size;
    options.seed = 3;
    auto dataset = *find_dataset("synthetic")->open(options);
    std::vector<std::uint8_t> pixels(dataset->pixels());
    for (const std::uint64_t serial : {0, 8}) {
      auto label = dataset->read(Split::train, static_cast<std::int64_t>(serial), pixels);
      ASSERT_TRUE(label);
      EXPECT_EQ(pixels, image_by_formula(size, serial, static_cast<std::uint64_t>(*label))) << size;
    }
  }
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
