#include "trainer/data/datasets/dataset.hpp"

#include <algorithm>
#include <cmath>

namespace dllaunch {

const DatasetEntry* find_dataset(std::string_view name) {
  for (const auto& entry : datasets()) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

Result<std::int32_t> Dataset::read_floats(Split, std::int64_t, std::span<float>) const {
  return Error{ErrorKind::bad_request, "images of this data set are not floats", ""};
}

Error with_skip_hint(Error error) {
  constexpr std::string_view hint = "dataset.on_bad: skip continues without bad images";
  if (error.kind != ErrorKind::bad_request) return error;
  if (!error.hint.empty()) error.hint += "; ";
  error.hint += hint;
  return error;
}

Result<Ok> Dataset::read_targets(Split, std::int64_t, std::span<float>) const {
  return Error{ErrorKind::bad_request, "images of this data set have one class each", ""};
}

Result<Ok> Dataset::read_tokens(Split, std::int64_t, std::span<float>,
                                std::span<std::int32_t>) const {
  return Error{ErrorKind::bad_request, "this data set has images, not tokens", ""};
}

namespace {

template <typename Pixel, typename Sum>
struct ChannelSums {
  std::vector<Pixel> pixels;
  std::vector<Sum> sum;
  std::vector<Sum> squares;

  ChannelSums(std::size_t count, std::size_t channels)
      : pixels(count), sum(channels), squares(channels) {}

  void add() {
    const std::size_t plane = pixels.size() / sum.size();
    for (std::size_t c = 0; c < sum.size(); ++c) {
      for (std::size_t p = c * plane; p < (c + 1) * plane; ++p) {
        const Sum value = pixels[p];
        sum[c] += value;
        squares[c] += value * value;
      }
    }
  }

  /// `whole`: the pixel value that is scaled to 1.
  Normalization normalization(std::int64_t images, double whole) const {
    const std::size_t pixels_of_image = pixels.size() / sum.size();
    const double count = static_cast<double>(pixels_of_image) * static_cast<double>(images);
    Normalization measured;
    for (std::size_t c = 0; c < sum.size(); ++c) {
      const double mean = static_cast<double>(sum[c]) / count / whole;
      const double square = static_cast<double>(squares[c]) / count / (whole * whole);
      const double variance = square - mean * mean;
      measured.mean.push_back(mean);
      // A smaller variance is below one level in a million pixels: rounding, not contrast.
      measured.std.push_back(variance > 1e-12 * std::max(1.0, square) ? std::sqrt(variance) : 1.0);
    }
    return measured;
  }
};

template <typename Sums, typename Read>
Result<Normalization> measure(const Dataset& dataset, bool skip_bad, double whole, Read read) {
  Sums sums(dataset.pixels(), static_cast<std::size_t>(dataset.image_shape().channels));
  const std::int64_t images = dataset.images_to_measure();
  const std::int64_t size = dataset.size(Split::train);
  std::int64_t good = 0;
  for (std::int64_t i = 0; i < images; ++i) {
    // i * size / images without the product, which could overflow.
    const std::int64_t index = size / images * i + size % images * i / images;
    auto label = read(index, std::span(sums.pixels));
    if (label) {
      sums.add();
      ++good;
    } else if (!skip_bad) {
      return with_skip_hint(std::move(label).error());
    } else if (label.error().kind != ErrorKind::bad_request || (i + 1 == images && good == 0)) {
      return std::move(label).error();
    }
  }
  return sums.normalization(good, whole);
}

}  // namespace

Result<Normalization> measure_normalization(const Dataset& dataset, bool skip_bad) {
  if (dataset.tokens() > 0) return Normalization{.mean = {0}, .std = {1}};
  if (dataset.floats()) {
    return measure<ChannelSums<float, double>>(
        dataset, skip_bad, 1, [&](std::int64_t index, std::span<float> pixels) {
          return dataset.read_floats(Split::train, index, pixels);
        });
  }
  return measure<ChannelSums<std::uint8_t, std::uint64_t>>(
      dataset, skip_bad, 255, [&](std::int64_t index, std::span<std::uint8_t> pixels) {
        return dataset.read(Split::train, index, pixels);
      });
}

}  // namespace dllaunch
