// Image preparation on the CPU: normalise, resize, crop, flip.
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

/// Steps of preparation besides normalisation.
struct PreparationOptions {
  std::optional<int> image_size = {};  // height and width, pixels; absent: unchanged
  // For training images only, after the resize:
  int crop = 0;       // pixels of black padding; a piece of the image's size is cut out at random
  bool flip = false;  // mirrors every second image, at random
  std::uint64_t seed = 1;
  std::int64_t epoch = 0;
};

/// Returns [channels, image_size, image_size], or the data set's shape without image_size.
ImageShape prepared_shape(const ImageShape& shape, std::optional<int> image_size);

/// Reads, normalises, resizes, crops and flips images. The result depends only on (seed, epoch,
/// image index), not on the rank, the thread or the position in the epoch. Thread-safe with one
/// Scratch per thread.
class ImagePreparation {
 public:
  struct Scratch {
    std::vector<std::uint8_t> bytes;  // [channels, height, width] as stored
    std::vector<float> read;          // the same after normalisation
    std::vector<float> resized;
    std::vector<float> row;
  };

  /// `dataset` must outlive this.
  ImagePreparation(const Dataset& dataset, const Normalization& normalization,
                   const PreparationOptions& options);

  std::size_t pixels() const { return channels_ * height_ * width_; }

  /// Writes [channels, height, width] and returns the label. Errors are the data set's.
  Result<std::int32_t> prepare(Split split, std::int64_t index, Scratch& scratch,
                               std::span<float> image) const;

  /// For preparation outside this class, from a data set's bytes: applying recipe() and cut_of() to
  /// Dataset::read() gives the same image as prepare().
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
  std::size_t height_;  // of the prepared image
  std::size_t width_;
  std::size_t read_height_;
  std::size_t read_width_;
  std::shared_ptr<const ImageRecipe> recipe_;
  std::vector<float> scale_;  // for float pixels: pixel * scale + shift
  std::vector<float> shift_;
  std::vector<float> black_;  // per channel: the value of a black pixel
  std::uint64_t key_;         // random key of the epoch
};

}  // namespace dllaunch
