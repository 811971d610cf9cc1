// Generated images that a network can learn: a pattern per class plus noise.
//
// An image depends only on (seed, index), so there are no files and any size is possible. A class
// is an 8x8 grid of light and dark cells per channel; a pixel is 128 +- 32 by its cell, +- 64 by
// noise.
#include <algorithm>
#include <array>

#include "support/random.hpp"
#include "trainer/data/datasets/dataset.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t cells = 8;  // per axis
constexpr std::size_t pattern_size = cells * cells;

class Synthetic : public Dataset {
 public:
  explicit Synthetic(const DatasetOptions& options)
      : shape_{.channels = options.channels.value_or(1),
               .height = options.image_size.value_or(28),
               .width = options.image_size.value_or(28)},
        images_(options.images.value_or(1024)),
        label_key_(random_key(options.seed, "synthetic labels")),
        cell_key_(random_key(options.seed, "synthetic cells")),
        noise_key_(random_key(options.seed, "synthetic noise")) {
    for (int k = 0; k < options.classes.value_or(10); ++k) {
      class_names_.push_back("class " + std::to_string(k));
    }
  }

  const ImageShape& image_shape() const override { return shape_; }
  const std::vector<std::string>& class_names() const override { return class_names_; }

  std::int64_t size(Split split) const override {
    return split == Split::train ? images_ : std::max<std::int64_t>(1, images_ / 10);
  }

  /// All images of a small set; of a large one, enough for three digits.
  std::int64_t images_to_measure() const override {
    constexpr std::int64_t most_pixels = std::int64_t{1} << 26;
    return std::clamp<std::int64_t>(most_pixels / static_cast<std::int64_t>(pixels()), 1, images_);
  }

  Result<std::int32_t> read(Split split, std::int64_t index,
                            std::span<std::uint8_t> pixels) const override {
    // Validation images continue the sequence after the training images.
    const auto serial = static_cast<std::uint64_t>(split == Split::train ? index : images_ + index);
    const std::uint64_t label = random_below(random_bits(label_key_, serial), class_names_.size());
    std::size_t at = 0;
    for (int c = 0; c < shape_.channels; ++c) {
      const auto light = pattern(label, c);
      for (int y = 0; y < shape_.height; ++y) {
        const std::size_t row = static_cast<std::size_t>(y) * cells / std::size_t(shape_.height);
        for (int x = 0; x < shape_.width; ++x, ++at) {
          const std::size_t column =
              static_cast<std::size_t>(x) * cells / std::size_t(shape_.width);
          const int mean = light[row * cells + column] ? 160 : 96;
          pixels[at] = static_cast<std::uint8_t>(mean + noise(serial, at));
        }
      }
    }
    return static_cast<std::int32_t>(label);
  }

 private:
  std::array<bool, pattern_size> pattern(std::uint64_t label, int channel) const {
    const auto pair =
        label * static_cast<std::uint64_t>(shape_.channels) + static_cast<std::uint64_t>(channel);
    const std::uint64_t bits = random_bits(cell_key_, pair);
    std::array<bool, pattern_size> light{};
    for (std::size_t i = 0; i < light.size(); ++i) light[i] = ((bits >> i) & 1) != 0;
    return light;
  }

  /// Returns -64 .. 63. One random number serves eight pixels.
  int noise(std::uint64_t serial, std::size_t pixel) const {
    const std::uint64_t bits = random_bits(noise_key_ ^ mix_bits(serial), pixel / 8);
    return static_cast<int>((bits >> (pixel % 8 * 8)) & 0x7f) - 64;
  }

  ImageShape shape_;
  std::int64_t images_;
  std::vector<std::string> class_names_;
  std::uint64_t label_key_;
  std::uint64_t cell_key_;
  std::uint64_t noise_key_;
};

Result<std::unique_ptr<Dataset>> open(const DatasetOptions& options) {
  return std::unique_ptr<Dataset>(std::make_unique<Synthetic>(options));
}

}  // namespace

extern const DatasetEntry synthetic_dataset;
const DatasetEntry synthetic_dataset{"synthetic",
                                     "generated, learnable images of any number and size; no files",
                                     false, open, "images classes channels"};

}  // namespace dllaunch
