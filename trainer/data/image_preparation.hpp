// From an image as its data set has it to what the network sees.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "support/result.hpp"
#include "trainer/data/datasets/dataset.hpp"
#include "trainer/transforms/byte_images.hpp"

namespace dllaunch {

/// What is done to images beyond normalising them.
struct PreparationOptions {
  std::optional<int> image_size = {};  // height and width, pixels; absent: as the data set has them
  // Of training images only, after the resize:
  int crop = 0;       // black pixels put around an image, out of which a piece of its size is cut
  bool flip = false;  // left to right, every second image
  std::uint64_t seed = 1;
  std::int64_t epoch = 0;
};

/// [channels, image_size, image_size], or the data set's own shape.
ImageShape prepared_shape(const ImageShape& shape, std::optional<int> image_size);

/// Reads, normalises, resizes, crops and flips. What becomes of an image follows from (seed, epoch,
/// its index) alone: not from the rank or the thread that prepares it, nor from its place in the
/// epoch. Used by several threads at once, each with a Scratch of its own.
class ImagePreparation {
 public:
  struct Scratch {
    std::vector<std::uint8_t> bytes;  // [channels, height, width] as read
    std::vector<float> read;          // the same, normalised
    std::vector<float> resized;
    std::vector<float> row;
  };

  /// `dataset` outlives this.
  ImagePreparation(const Dataset& dataset, const Normalization& normalization,
                   const PreparationOptions& options);

  std::size_t pixels() const { return channels_ * height_ * width_; }

  /// Writes [channels, height, width] and returns the label. Any Error is the data set's.
  Result<std::int32_t> prepare(Split split, std::int64_t index, Scratch& scratch,
                               std::span<float> image) const;

  /// For who prepares images elsewhere, out of a data set's bytes: read(), cut_of() and the recipe
  /// make of an image what prepare() makes of it.
  const std::shared_ptr<const ImageRecipe>& recipe() const { return recipe_; }
  ImageCut cut_of(Split split, std::int64_t index) const;

 private:
  Result<std::int32_t> read(Split split, std::int64_t index, Scratch& scratch,
                            std::span<float> image) const;
  void resize(std::span<const float> from, Scratch& scratch, std::span<float> to) const;
  void cut(const ImageCut& piece, std::span<const float> from, std::span<float> to) const;

  const Dataset& dataset_;
  PreparationOptions options_;
  std::size_t channels_;
  std::size_t height_;  // of what the network sees
  std::size_t width_;
  std::size_t read_height_;
  std::size_t read_width_;
  std::shared_ptr<const ImageRecipe> recipe_;
  std::vector<float> scale_;  // of floats: a pixel becomes pixel * scale + shift
  std::vector<float> shift_;
  std::vector<float> black_;  // per channel: what 0 becomes
  std::uint64_t key_;         // of this epoch
};

}  // namespace dllaunch
