#include "trainer/data/image_preparation.hpp"

#include <algorithm>
#include <utility>

#include "support/random.hpp"

namespace dllaunch {

ImageShape prepared_shape(const ImageShape& shape, std::optional<int> image_size) {
  return {.channels = shape.channels,
          .height = image_size.value_or(shape.height),
          .width = image_size.value_or(shape.width)};
}

ImagePreparation::ImagePreparation(const Dataset& dataset, const Normalization& normalization,
                                   const PreparationOptions& options)
    : dataset_(dataset),
      options_(options),
      key_(random_bits(random_key(options.seed, "crop and flip"),
                       static_cast<std::uint64_t>(options.epoch))) {
  const ImageShape& own = dataset.image_shape();
  const ImageShape shape = prepared_shape(own, options.image_size);
  channels_ = static_cast<std::size_t>(shape.channels);
  height_ = static_cast<std::size_t>(shape.height);
  width_ = static_cast<std::size_t>(shape.width);
  read_height_ = static_cast<std::size_t>(own.height);
  read_width_ = static_cast<std::size_t>(own.width);
  ImageRecipe recipe{.from = own,
                     .levels = {},
                     .rows = resize_axis(own.height, shape.height),
                     .columns = resize_axis(own.width, shape.width)};
  for (std::size_t c = 0; c < channels_; ++c) {
    const double mean = normalization.mean[c];
    const double std = normalization.std[c];
    black_.push_back(static_cast<float>(-mean / std));
    scale_.push_back(static_cast<float>(1 / std));
    shift_.push_back(static_cast<float>(-mean / std));
    for (int value = 0; value < 256; ++value) {
      recipe.levels.push_back(static_cast<float>((value / 255.0 - mean) / std));
    }
  }
  recipe_ = std::make_shared<const ImageRecipe>(std::move(recipe));
}

Result<std::int32_t> ImagePreparation::prepare(Split split, std::int64_t index, Scratch& scratch,
                                               std::span<float> image) const {
  const bool resizes = height_ != read_height_ || width_ != read_width_;
  const bool cuts = split == Split::train && (options_.crop > 0 || options_.flip);
  if (!resizes && !cuts) return read(split, index, scratch, image);
  scratch.read.resize(dataset_.pixels());
  auto label = read(split, index, scratch, scratch.read);
  if (!label) return label;
  if (!cuts) {
    resize(scratch.read, scratch, image);
    return label;
  }
  if (!resizes) {
    cut(cut_of(split, index), scratch.read, image);
    return label;
  }
  scratch.resized.resize(pixels());
  resize(scratch.read, scratch, scratch.resized);
  cut(cut_of(split, index), scratch.resized, image);
  return label;
}

/// Normalises before resizing: bilinear interpolation commutes with it, and the lookup tables then
/// apply to the fewest pixels.
Result<std::int32_t> ImagePreparation::read(Split split, std::int64_t index, Scratch& scratch,
                                            std::span<float> image) const {
  const std::size_t plane = read_height_ * read_width_;
  if (dataset_.floats()) {
    auto label = dataset_.read_floats(split, index, image);
    for (std::size_t c = 0; label && c < channels_; ++c) {
      for (float& pixel : image.subspan(c * plane, plane)) pixel = pixel * scale_[c] + shift_[c];
    }
    return label;
  }
  scratch.bytes.resize(dataset_.pixels());
  auto label = dataset_.read(split, index, scratch.bytes);
  for (std::size_t c = 0; label && c < channels_; ++c) {
    const float* levels = recipe_->levels.data() + c * 256;
    for (std::size_t p = c * plane; p < (c + 1) * plane; ++p) image[p] = levels[scratch.bytes[p]];
  }
  return label;
}

void ImagePreparation::resize(std::span<const float> from, Scratch& scratch,
                              std::span<float> to) const {
  const AxisResize& rows = recipe_->rows;
  const AxisResize& columns = recipe_->columns;
  scratch.row.resize(read_width_);
  std::size_t at = 0;
  for (std::size_t c = 0; c < channels_; ++c) {
    const float* plane = from.data() + c * read_height_ * read_width_;
    for (std::size_t y = 0; y < height_; ++y) {
      const float* upper = plane + static_cast<std::size_t>(rows.from[y]) * read_width_;
      const float* lower = upper + static_cast<std::size_t>(rows.step[y]) * read_width_;
      const float below = rows.weight[y];
      for (std::size_t x = 0; x < read_width_; ++x) {
        scratch.row[x] = upper[x] * (1 - below) + lower[x] * below;
      }
      for (std::size_t x = 0; x < width_; ++x, ++at) {
        const float* left = scratch.row.data() + columns.from[x];
        to[at] = left[0] * (1 - columns.weight[x]) + left[columns.step[x]] * columns.weight[x];
      }
    }
  }
}

ImageCut ImagePreparation::cut_of(Split split, std::int64_t index) const {
  if (split != Split::train) return {};
  const std::uint64_t key = random_bits(key_, static_cast<std::uint64_t>(index));
  const auto place = [&](std::uint64_t of) {
    const auto places = static_cast<std::uint64_t>(options_.crop) * 2 + 1;
    const auto at = static_cast<std::int64_t>(random_below(random_bits(key, of), places));
    return static_cast<std::int32_t>(at - options_.crop);
  };
  const bool mirrored = options_.flip && random_bits(key, 2) >> 63 != 0;
  return {.down = place(0),
          .right = place(1),
          .kind = mirrored ? ImageCut::Kind::mirrored : ImageCut::Kind::upright};
}

void ImagePreparation::cut(const ImageCut& piece, std::span<const float> from,
                           std::span<float> to) const {
  const auto height = static_cast<std::int64_t>(height_);
  const auto width = static_cast<std::int64_t>(width_);
  for (std::size_t c = 0; c < channels_; ++c) {
    const float* plane = from.data() + c * height_ * width_;
    float* out = to.data() + c * height_ * width_;
    for (std::int64_t y = 0; y < height; ++y, out += width) {
      const std::int64_t row = y + piece.down;
      std::fill(out, out + width, black_[c]);
      if (row < 0 || row >= height) continue;
      const std::int64_t shift = piece.right;  // out[x] = row[x + shift]
      const std::int64_t begin = std::clamp<std::int64_t>(-shift, 0, width);
      const std::int64_t end = std::clamp<std::int64_t>(width - shift, 0, width);
      if (begin < end) std::copy_n(plane + row * width + begin + shift, end - begin, out + begin);
      if (piece.kind == ImageCut::Kind::mirrored) std::reverse(out, out + width);
    }
  }
}

}  // namespace dllaunch
