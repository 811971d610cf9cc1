// Backends that prepare images themselves give the same results as for prepared images, on a GPU
// too if there is one.
#include "trainer/transforms/byte_images.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/trainer/backends/compiled.hpp"
#include "tests/trainer/backends/usable_backends.hpp"
#include "trainer/backends/table/backends.hpp"

namespace dllaunch {
namespace {

constexpr int rows = 5;
constexpr int present = 4;
constexpr int height = 8;
constexpr int width = 6;
constexpr int channels = 3;

Graph small_graph() {
  GraphBuilder net("small", {channels, height, width});
  net.add("conv", Conv2d{.channels = 4, .kernel = 3});
  net.add("relu", Relu{});
  net.add("flatten", Flatten{});
  net.add("fc", Dense{.units = 5});
  auto graph = std::move(net).finish();
  EXPECT_TRUE(graph);
  return *std::move(graph);
}

/// Each output pixel mixes two neighbours by a quarter, or is a copy.
AxisResize axis(int from, int to) {
  AxisResize made;
  for (int i = 0; i < to; ++i) {
    made.from.push_back(i * from / to);
    made.step.push_back(from != to && made.from.back() + 1 < from ? 1 : 0);
    made.weight.push_back(from != to ? 0.25F : 0.F);
  }
  return made;
}

/// `present` images of `from_height` x `from_width` with different cuts.
struct Source {
  Source(int from_height, int from_width) {
    ImageRecipe made{.from = {.channels = channels, .height = from_height, .width = from_width},
                     .levels = {},
                     .rows = axis(from_height, height),
                     .columns = axis(from_width, width)};
    for (int c = 0; c < channels; ++c) {
      for (int value = 0; value < 256; ++value) {
        made.levels.push_back((static_cast<float>(value) - 100 - 20 * static_cast<float>(c)) / 64);
      }
    }
    pixels.resize(static_cast<std::size_t>(present * channels * from_height * from_width));
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      pixels[i] = static_cast<std::uint8_t>(i * i * 7 + i * 31);
    }
    images = {.pixels = pixels,
              .cuts = cuts,
              .recipe = std::make_shared<const ImageRecipe>(std::move(made)),
              .memory = nullptr,
              .number = static_cast<std::uint64_t>(from_height)};
  }

  float at(std::size_t image, std::size_t c, int y, int x) const {
    const ImageRecipe& recipe = *images.recipe;
    const ImageCut& cut = cuts[image];
    const int row = y + cut.down;
    const int column = (cut.kind == ImageCut::Kind::mirrored ? width - 1 - x : x) + cut.right;
    const float* level = &recipe.levels[c * 256];
    if (row < 0 || row >= height || column < 0 || column >= width) return level[0];
    const auto line = static_cast<std::size_t>(row);
    const auto beside = static_cast<std::size_t>(column);
    const auto from_width = static_cast<std::size_t>(recipe.from.width);
    const auto plane = static_cast<std::size_t>(recipe.from.height) * from_width;
    const std::uint8_t* upper = &pixels[(image * channels + c) * plane] +
                                static_cast<std::size_t>(recipe.rows.from[line]) * from_width;
    const auto in = [&](const std::uint8_t* of) {
      const int first = recipe.columns.from[beside];
      const float right = recipe.columns.weight[beside];
      return level[of[first]] * (1 - right) +
             level[of[first + recipe.columns.step[beside]]] * right;
    };
    const float below = recipe.rows.weight[line];
    return in(upper) * (1 - below) +
           in(upper + static_cast<std::size_t>(recipe.rows.step[line]) * from_width) * below;
  }
  std::vector<float> prepared() const {
    std::vector<float> made;
    for (std::size_t image = 0; image < present; ++image) {
      for (std::size_t c = 0; c < channels; ++c) {
        for (int y = 0; y < height; ++y) {
          for (int x = 0; x < width; ++x) made.push_back(at(image, c, y, x));
        }
      }
    }
    return made;
  }

  static constexpr std::array<ImageCut, present> cuts{
      ImageCut{},
      {.down = 2, .right = -1, .kind = ImageCut::Kind::mirrored},
      {.down = -3, .right = 2, .kind = ImageCut::Kind::upright},
      {.down = 100, .right = 0, .kind = ImageCut::Kind::mirrored}};
  std::vector<std::uint8_t> pixels;
  ByteImages images;
};

class ByteImagesOn : public testing::TestWithParam<BackendEntry> {
 protected:
  void SetUp() override {
    auto opened = GetParam().open();
    if (!opened) GTEST_SKIP() << opened.error().what;
  }
};

TEST_P(ByteImagesOn, GiveTheResultsOfPreparedOnes) {
  const Graph graph = small_graph();
  const std::vector<std::int32_t> labels{0, 1, 2, 3, 4};
  Compiled compiled(GetParam(), graph, {.batch = rows});
  compiled.set_weights(random_weights(graph));
  const Source as_they_are(height, width);
  const Source smaller(height / 2, width / 2);
  const Source many(2 * height + 1, 2 * width);
  EXPECT_FALSE(compiled->takes_bytes(*many.images.recipe)) << "more bytes than floats";
  for (const Source* source : {&as_they_are, &smaller, &as_they_are}) {
    ASSERT_EQ(compiled->takes_bytes(*source->images.recipe), GetParam().gpu_memory);
    if (!GetParam().gpu_memory) continue;
    const std::vector<float> images = source->prepared();
    const double wanted =
        compiled->forward({.images = images, .labels = labels, .count = present}, Phase::train)
            .loss_sum;
    const std::vector<double> logits = compiled->logits();
    compiled->backward(1, false, [](int) {});
    const Tensors gradients = compiled.gradients();
    const Batch batch{.images = {}, .labels = labels, .count = present, .bytes = &source->images};
    EXPECT_NEAR(compiled->forward(batch, Phase::train).loss_sum, wanted, 1e-5 * wanted);
    EXPECT_LT(relative_error(compiled->logits(), logits), 1e-5);
    EXPECT_EQ(compiled->first_non_finite(batch), "");
    compiled->backward(1, false, [](int) {});
    expect_close(graph, compiled.gradients(), gradients, 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, ByteImagesOn, testing::ValuesIn(backends()),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace dllaunch
