// Generated images that a network can learn: a pattern per class plus noise. With `sequence`,
// tokens (synthetic_tokens.hpp).
//
// An image depends only on (seed, index), so there are no files and any size is possible. A class
// is an 8x8 grid of light and dark cells per channel; a pixel is 128 +- 32 by its cell, +- 64 by
// noise.
#include <algorithm>
#include <bit>
#include <cstring>

#include "support/random.hpp"
#include "trainer/data/datasets/dataset.hpp"
#include "trainer/data/datasets/synthetic_tokens.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t cells = 8;  // per axis
// Of a pixel, before the noise of 0 .. 127.
constexpr std::uint8_t darkest_light = 160 - 64;
constexpr std::uint8_t darkest_dark = 96 - 64;

/// Returns the first of `pixels` that lies in the cell or a later one, along an axis.
std::size_t first_of(std::size_t cell, std::size_t pixels) {
  return (cell * pixels + cells - 1) / cells;
}

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
    const std::size_t plane = pixels.size() / static_cast<std::size_t>(shape_.channels);
    for (int c = 0; c < shape_.channels; ++c) {
      draw(pattern(label, c), pixels.subspan(static_cast<std::size_t>(c) * plane, plane));
    }
    add_noise(serial, pixels);
    return static_cast<std::int32_t>(label);
  }

 private:
  /// Bit 8 * row + column: whether the cell is light.
  std::uint64_t pattern(std::uint64_t label, int channel) const {
    const auto pair =
        label * static_cast<std::uint64_t>(shape_.channels) + static_cast<std::uint64_t>(channel);
    return random_bits(cell_key_, pair);
  }

  void draw(std::uint64_t light, std::span<std::uint8_t> plane) const {
    const auto height = static_cast<std::size_t>(shape_.height);
    const auto width = static_cast<std::size_t>(shape_.width);
    for (std::size_t row = 0; row < cells; ++row) {
      const std::size_t end = first_of(row + 1, height);
      std::size_t y = first_of(row, height);
      if (y == end) continue;
      const auto line = plane.subspan(y * width, width);
      for (std::size_t column = 0; column < cells; ++column) {
        const bool is_light = ((light >> (row * cells + column)) & 1) != 0;
        std::fill(line.begin() + static_cast<std::ptrdiff_t>(first_of(column, width)),
                  line.begin() + static_cast<std::ptrdiff_t>(first_of(column + 1, width)),
                  is_light ? darkest_light : darkest_dark);
      }
      for (++y; y < end; ++y) std::ranges::copy(line, plane.subspan(y * width).begin());
    }
  }

  /// Adds 0 .. 127 to each pixel. One random number serves eight pixels, in one addition: no byte
  /// exceeds 255, so none carries into the next.
  void add_noise(std::uint64_t serial, std::span<std::uint8_t> pixels) const {
    static_assert(std::endian::native == std::endian::little, "the lowest byte is the first pixel");
    const std::uint64_t key = noise_key_ ^ mix_bits(serial);
    const auto add = [&](std::size_t at, std::size_t bytes) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, pixels.data() + at, bytes);
      eight += random_bits(key, at / 8) & 0x7f7f7f7f7f7f7f7fU;
      std::memcpy(pixels.data() + at, &eight, bytes);
    };
    std::size_t at = 0;
    for (; at + 8 <= pixels.size(); at += 8) add(at, 8);
    if (at < pixels.size()) add(at, pixels.size() - at);
  }

  ImageShape shape_;
  std::int64_t images_;
  std::vector<std::string> class_names_;
  std::uint64_t label_key_;
  std::uint64_t cell_key_;
  std::uint64_t noise_key_;
};

Result<std::unique_ptr<Dataset>> open_synthetic(const DatasetOptions& options) {
  if (options.sequence) {
    SyntheticTokensOptions tokens{.sequence = *options.sequence, .seed = options.seed};
    tokens.vocabulary = options.classes.value_or(tokens.vocabulary);
    tokens.samples = options.images.value_or(tokens.samples);
    return synthetic_tokens(tokens);
  }
  return std::unique_ptr<Dataset>(std::make_unique<Synthetic>(options));
}

}  // namespace

extern const DatasetEntry synthetic_dataset;
const DatasetEntry synthetic_dataset{"synthetic",
                                     "generated, learnable images of any number and size, or "
                                     "sequences of tokens; no files",
                                     false, open_synthetic, "images classes channels sequence"};

}  // namespace dllaunch
