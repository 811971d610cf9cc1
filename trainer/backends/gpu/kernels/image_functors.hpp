// Preprocessing of byte images into the network's input.
#pragma once

#include "trainer/backends/gpu/kernels/element.hpp"
#include "trainer/transforms/image_cut.hpp"

namespace dllaunch::gpu {

/// A linear interpolation between two pixels of an axis; `weight` is that of `second`.
struct AxisPoint {
  std::int32_t first = 0;
  std::int32_t second = 0;
  float weight = 0;
};

/// A byte image, planes first: channels, or (channel, depth) if the network reads volumes.
struct BytePlanes {
  const std::uint8_t* pixels = nullptr;  // [rows, planes, height, width]
  std::int64_t height = 0;
  std::int64_t width = 0;
  const float* levels = nullptr;       // [planes, 256]
  const AxisPoint* lines = nullptr;    // one per line of the resized image; nullptr: no resizing
  const AxisPoint* columns = nullptr;  // one per column

  /// Sums in the same order as the host (image_preparation.cpp).
  constexpr float at(std::int64_t plane, const float* level, std::int64_t y, std::int64_t x) const {
    const std::uint8_t* const from = pixels + plane * height * width;
    if (lines == nullptr) return level[from[y * width + x]];
    const AxisPoint line = lines[y];
    const AxisPoint column = columns[x];
    const std::uint8_t* const upper = from + line.first * width;
    const std::uint8_t* const lower = from + line.second * width;
    const float left =
        level[upper[column.first]] * (1 - line.weight) + level[lower[column.first]] * line.weight;
    const float right =
        level[upper[column.second]] * (1 - line.weight) + level[lower[column.second]] * line.weight;
    return left * (1 - column.weight) + right * column.weight;
  }
};

/// Normalises, resizes, crops and flips. One index per pixel of `to`, all channels.
template <typename T>
struct PrepareImages {
  BytePlanes from;
  const ImageCut* cuts;  // [rows]
  T* to;
  Grid shape;  // of `to`
  constexpr void operator()(std::int64_t i) const {
    T* const pixel = to + i * shape.channels;
    const auto [row, d, h, w, first] = coordinates_of(shape, i * shape.channels);
    const ImageCut cut = cuts[row];
    const bool absent = cut.kind == ImageCut::Kind::absent;
    const std::int64_t y = h + cut.down;
    const std::int64_t x =
        (cut.kind == ImageCut::Kind::mirrored ? shape.width - 1 - w : w) + cut.right;
    const bool black = y < 0 || y >= shape.height || x < 0 || x >= shape.width;
    for (std::int64_t c = 0; c < shape.channels; ++c) {
      const std::int64_t plane = c * shape.depth + d;
      const float* const level = from.levels + plane * 256;
      const std::int64_t nth = row * shape.channels * shape.depth + plane;
      set(pixel[c], absent ? 0 : black ? level[0] : from.at(nth, level, y, x));
    }
  }
};

}  // namespace dllaunch::gpu
