#include "trainer/data/image_preparation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "support/random.hpp"

namespace dllaunch {
namespace {

/// Every pixel of every image has a unique value, which identifies its origin.
class Tagged : public Dataset {
 public:
  Tagged(ImageShape shape, bool floats) : shape_(shape), floats_(floats) {}

  const ImageShape& image_shape() const override { return shape_; }
  const std::vector<std::string>& class_names() const override { return names_; }
  std::int64_t size(Split) const override { return 1000; }
  bool floats() const override { return floats_; }
  Result<std::int32_t> read(Split, std::int64_t index,
                            std::span<std::uint8_t> pixels) const override {
    for (std::size_t p = 0; p < pixels.size(); ++p) pixels[p] = byte(index, p);
    return static_cast<std::int32_t>(index % 7);
  }
  Result<std::int32_t> read_floats(Split, std::int64_t index,
                                   std::span<float> pixels) const override {
    for (std::size_t p = 0; p < pixels.size(); ++p) pixels[p] = byte(index, p) / 255.0F;
    return static_cast<std::int32_t>(index % 7);
  }

  static std::uint8_t byte(std::int64_t index, std::size_t p) {
    return static_cast<std::uint8_t>(1 + (static_cast<std::size_t>(index) * 17 + p) % 255);
  }

 private:
  ImageShape shape_;
  bool floats_;
  std::vector<std::string> names_{"a", "b", "c", "d", "e", "f", "g"};
};

/// For pixels scaled to 0..1, which stay unchanged.
Normalization plain(int channels) {
  return {.mean = std::vector<double>(static_cast<std::size_t>(channels), 0.0),
          .std = std::vector<double>(static_cast<std::size_t>(channels), 1.0)};
}

std::vector<float> prepared(const Dataset& dataset, const PreparationOptions& options,
                            std::int64_t index, Split split = Split::train) {
  const ImagePreparation preparation(dataset, plain(dataset.image_shape().channels), options);
  ImagePreparation::Scratch scratch;
  std::vector<float> image(preparation.pixels(), -1);
  auto label = preparation.prepare(split, index, scratch, image);
  EXPECT_TRUE(label);
  EXPECT_EQ(*label, index % 7);
  return image;
}

/// One pixel by definition, in double.
double bilinear(const std::vector<float>& plane, int height, int width, double y, double x) {
  y = std::clamp(y, 0.0, height - 1.0);
  x = std::clamp(x, 0.0, width - 1.0);
  const auto at = [&](int row, int column) {
    return static_cast<double>(plane[static_cast<std::size_t>(std::min(row, height - 1) * width +
                                                              std::min(column, width - 1))]);
  };
  const int row = static_cast<int>(y);
  const int column = static_cast<int>(x);
  const double below = y - row;
  const double right = x - column;
  return (1 - below) * ((1 - right) * at(row, column) + right * at(row, column + 1)) +
         below * ((1 - right) * at(row + 1, column) + right * at(row + 1, column + 1));
}

TEST(ImagePreparation, ResizesEveryPixelByTheDefinition) {
  for (const auto& [height, width, size] :
       {std::tuple{3, 5, 8}, {32, 32, 128}, {28, 20, 7}, {1, 1, 4}, {6, 6, 1}, {9, 4, 9}}) {
    const Tagged dataset({.channels = 2, .height = height, .width = width}, false);
    const auto image = prepared(dataset, {.image_size = size}, 3, Split::validation);
    ASSERT_EQ(image.size(), static_cast<std::size_t>(2 * size * size));
    const auto plane = static_cast<std::size_t>(height * width);
    std::size_t at = 0;
    for (std::size_t c = 0; c < 2; ++c) {
      std::vector<float> from(plane);
      for (std::size_t p = 0; p < plane; ++p) from[p] = Tagged::byte(3, c * plane + p) / 255.0F;
      for (int y = 0; y < size; ++y) {
        for (int x = 0; x < size; ++x, ++at) {
          const double row = (y + 0.5) * height / size - 0.5;
          const double column = (x + 0.5) * width / size - 0.5;
          ASSERT_NEAR(image[at], bilinear(from, height, width, row, column), 2e-6)
              << height << "x" << width << " to " << size << ", pixel " << y << "," << x;
        }
      }
    }
  }
}

TEST(ImagePreparation, FloatsAndBytesGiveTheSameResult) {
  const ImageShape shape{.channels = 3, .height = 6, .width = 5};
  const Normalization normalization{.mean = {0.1, 0.5, 0.9}, .std = {0.2, 1, 3}};
  for (const std::optional<int> size : {std::optional<int>(), std::optional<int>(9)}) {
    std::vector<std::vector<float>> images;
    for (const bool floats : {false, true}) {
      const Tagged dataset(shape, floats);
      const ImagePreparation preparation(dataset, normalization,
                                         {.image_size = size, .crop = 2, .flip = true});
      ImagePreparation::Scratch scratch;
      images.emplace_back(preparation.pixels());
      ASSERT_TRUE(preparation.prepare(Split::train, 5, scratch, images.back()));
    }
    for (std::size_t i = 0; i < images[0].size(); ++i) {
      ASSERT_NEAR(images[0][i], images[1][i], 1e-5);
    }
  }
}

/// Returns the positions of `image` in `whole` as (down, right, flipped), by exhaustive search.
std::set<std::tuple<int, int, bool>> places(const std::vector<float>& whole,
                                            const std::vector<float>& image, int size, int crop) {
  std::set<std::tuple<int, int, bool>> found;
  for (int down = -crop; down <= crop; ++down) {
    for (int right = -crop; right <= crop; ++right) {
      for (const bool flipped : {false, true}) {
        bool fits = true;
        for (int y = 0; y < size && fits; ++y) {
          for (int x = 0; x < size && fits; ++x) {
            const int row = y + down;
            const int column = (flipped ? size - 1 - x : x) + right;
            const bool inside = row >= 0 && row < size && column >= 0 && column < size;
            const float expected =
                inside ? whole[static_cast<std::size_t>(row * size + column)] : 0;
            fits = image[static_cast<std::size_t>(y * size + x)] == expected;
          }
        }
        if (fits) found.insert({down, right, flipped});
      }
    }
  }
  return found;
}

TEST(ImagePreparation, CropsAndFlipsEvenly) {
  const Tagged dataset({.channels = 1, .height = 6, .width = 6}, false);
  constexpr int crop = 2;
  std::map<int, int> downs;
  std::map<int, int> rights;
  int flips = 0;
  for (std::int64_t index = 0; index < 1000; ++index) {
    const auto whole = prepared(dataset, {}, index);
    const auto found =
        places(whole, prepared(dataset, {.crop = crop, .flip = true}, index), 6, crop);
    ASSERT_EQ(found.size(), 1u) << "image " << index;
    const auto [down, right, flipped] = *found.begin();
    ++downs[down];
    ++rights[right];
    flips += flipped ? 1 : 0;
  }
  for (int d = -crop; d <= crop; ++d) {  // 200 each expected, standard deviation 12.6
    EXPECT_NEAR(downs[d], 200, 60) << d;
    EXPECT_NEAR(rights[d], 200, 60) << d;
  }
  EXPECT_NEAR(flips, 500, 80);
}

TEST(ImagePreparation, DependsOnlyOnSeedEpochAndIndex) {
  const Tagged dataset({.channels = 1, .height = 6, .width = 6}, false);
  const PreparationOptions options{.crop = 4, .flip = true, .seed = 3, .epoch = 1};
  PreparationOptions other_seed = options;
  other_seed.seed = 4;
  PreparationOptions other_epoch = options;
  other_epoch.epoch = 2;
  int seeds_differ = 0;
  int epochs_differ = 0;
  for (std::int64_t index = 0; index < 50; ++index) {
    const auto image = prepared(dataset, options, index);
    EXPECT_EQ(image, prepared(dataset, options, index));
    seeds_differ += image != prepared(dataset, other_seed, index) ? 1 : 0;
    epochs_differ += image != prepared(dataset, other_epoch, index) ? 1 : 0;
  }
  EXPECT_GT(seeds_differ, 40);
  EXPECT_GT(epochs_differ, 40);
}

TEST(ImagePreparation, ValidationImagesAreOnlyResized) {
  const Tagged dataset({.channels = 1, .height = 6, .width = 6}, false);
  for (std::int64_t index = 0; index < 20; ++index) {
    const PreparationOptions moved{.image_size = 12, .crop = 4, .flip = true};
    EXPECT_EQ(prepared(dataset, moved, index, Split::validation),
              prepared(dataset, {.image_size = 12}, index, Split::validation));
  }
}

/// Pixel (y, x) by definition of the recipe and the cut.
float by_recipe(const ImageRecipe& recipe, const ImageCut& cut, const std::uint8_t* plane,
                const float* levels, int y, int x) {
  const auto size = [](const AxisResize& axis) { return static_cast<int>(axis.from.size()); };
  const int row = y + cut.down;
  const int column =
      (cut.kind == ImageCut::Kind::mirrored ? size(recipe.columns) - 1 - x : x) + cut.right;
  const bool inside =
      row >= 0 && row < size(recipe.rows) && column >= 0 && column < size(recipe.columns);
  if (!inside) return levels[0];
  const auto of = [](const AxisResize& axis, int at) {
    const auto i = static_cast<std::size_t>(at);
    return std::tuple(axis.from[i], axis.from[i] + axis.step[i], axis.weight[i]);
  };
  const auto [upper, lower, below] = of(recipe.rows, row);
  const auto [left, right, beside] = of(recipe.columns, column);
  const auto level = [&](int r, int c) { return levels[plane[r * recipe.from.width + c]]; };
  const float at_left = level(upper, left) * (1 - below) + level(lower, left) * below;
  const float at_right = level(upper, right) * (1 - below) + level(lower, right) * below;
  return at_left * (1 - beside) + at_right * beside;
}

TEST(ImagePreparation, RecipeAndCutDescribeTheWholePreparation) {
  const Normalization normalization{.mean = {0.1, 0.5, 0.9}, .std = {0.2, 1, 3}};
  for (const auto& [height, width, size] :
       {std::tuple{6, 5, 0}, {6, 5, 9}, {7, 7, 4}, {1, 3, 2}, {5, 5, 5}}) {
    const Tagged dataset({.channels = 3, .height = height, .width = width}, false);
    PreparationOptions options{.crop = 2, .flip = true, .epoch = 4};
    if (size > 0) options.image_size = size;
    const ImagePreparation preparation(dataset, normalization, options);
    const ImageRecipe& recipe = *preparation.recipe();
    EXPECT_EQ(recipe.resizes(), size > 0 && (height != size || width != size));
    const auto area = static_cast<std::size_t>(height * width);
    std::vector<std::uint8_t> bytes(3 * area);
    std::vector<float> image(preparation.pixels());
    ImagePreparation::Scratch scratch;
    for (std::int64_t index = 0; index < 40; ++index) {
      const Split split = index % 4 == 0 ? Split::validation : Split::train;
      ASSERT_TRUE(dataset.read(split, index, bytes));
      ASSERT_TRUE(preparation.prepare(split, index, scratch, image));
      const ImageCut cut = preparation.cut_of(split, index);
      std::size_t at = 0;
      for (std::size_t c = 0; c < 3; ++c) {
        for (std::size_t y = 0; y < recipe.rows.from.size(); ++y) {
          for (std::size_t x = 0; x < recipe.columns.from.size(); ++x, ++at) {
            ASSERT_NEAR(image[at],
                        by_recipe(recipe, cut, &bytes[c * area], &recipe.levels[c * 256],
                                  static_cast<int>(y), static_cast<int>(x)),
                        2e-6);
          }
        }
      }
    }
  }
}

TEST(ImagePreparation, ACropLargerThanTheImageMayBeAllBlack) {
  const Tagged dataset({.channels = 1, .height = 2, .width = 2}, false);
  const Normalization grey{.mean = {0.5}, .std = {0.25}};
  int black = 0;
  for (std::int64_t index = 0; index < 50; ++index) {
    const ImagePreparation preparation(dataset, grey, {.crop = 2000000000});
    ImagePreparation::Scratch scratch;
    std::vector<float> image(4);
    ASSERT_TRUE(preparation.prepare(Split::train, index, scratch, image));
    black += image == std::vector<float>(4, -2.0F) ? 1 : 0;
  }
  EXPECT_GT(black, 45);
}

}  // namespace
}  // namespace dllaunch
