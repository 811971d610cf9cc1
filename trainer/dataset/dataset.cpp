#include "trainer/dataset/dataset.hpp"

#include <cmath>

namespace dllaunch {

const DatasetEntry* find_dataset(std::string_view name) {
  for (const auto& entry : datasets()) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

Result<Normalization> measure_normalization(const Dataset& dataset) {
  const auto channels = static_cast<std::size_t>(dataset.image_shape().channels);
  const std::size_t plane = dataset.pixels() / channels;
  std::vector<std::uint8_t> pixels(dataset.pixels());
  std::vector<std::uint64_t> sum(channels);
  std::vector<std::uint64_t> squares(channels);
  for (std::int64_t i = 0; i < dataset.images_to_measure(); ++i) {
    auto label = dataset.read(Split::train, i, pixels);
    if (!label) return std::move(label).error();
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t p = c * plane; p < (c + 1) * plane; ++p) {
        const std::uint64_t value = pixels[p];
        sum[c] += value;
        squares[c] += value * value;
      }
    }
  }
  const double count =
      static_cast<double>(plane) * static_cast<double>(dataset.images_to_measure());
  Normalization measured;
  for (std::size_t c = 0; c < channels; ++c) {
    const double mean = static_cast<double>(sum[c]) / count / 255;
    const double variance = static_cast<double>(squares[c]) / count / (255.0 * 255.0) - mean * mean;
    measured.mean.push_back(mean);
    // A variance below one level in a million pixels is rounding, not contrast.
    measured.std.push_back(variance > 1e-12 ? std::sqrt(variance) : 1.0);
  }
  return measured;
}

}  // namespace dllaunch
