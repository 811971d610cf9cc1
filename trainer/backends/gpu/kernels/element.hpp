// Elements of activations on a GPU. Arithmetic is in float, whatever the storage type.
//
// Everything here and in *_functors.hpp compiles for device and host: CUDA and HIP kernels call it,
// and so does a loop on the host in the tests. It is therefore constexpr (nvcc
// --expt-relaxed-constexpr, clang). A functor does the work of one index and must not depend on
// order.
#pragma once

#include <cstdint>

#include "trainer/backends/gpu/kernels/conversions.hpp"
#include "trainer/backends/gpu/kernels/divisor.hpp"

namespace dllaunch::gpu {

/// to = value, or to += value if `add`.
template <typename T>
constexpr void put(T& to, float value, bool add) {
  set(to, add ? get(to) + value : value);
}

/// Shape of images and volumes on a GPU, channels last: [rows, depth, height, width, channels]. A
/// vector is one pixel, and so is a token of a sequence, which is a row.
struct Volume {
  std::int64_t rows = 0;
  std::int64_t depth = 1;
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int64_t channels = 1;

  constexpr std::int64_t pixels() const { return depth * height * width; }
  constexpr std::int64_t elements() const { return rows * pixels() * channels; }
  constexpr std::int64_t at(std::int64_t row, std::int64_t d, std::int64_t h, std::int64_t w,
                            std::int64_t c) const {
    return (((row * depth + d) * height + h) * width + w) * channels + c;
  }
};

/// A volume with what its elements' coordinates take.
struct Grid : Volume {
  constexpr Grid() = default;
  /// Implicit, so that functors are initialised from volumes. For the host: it divides.
  constexpr Grid(const Volume& volume)
      : Volume(volume),
        by_depth(depth),
        by_height(height),
        by_width(width),
        by_channels(channels),
        by_pixels(pixels()) {}

  Divisor by_depth;
  Divisor by_height;
  Divisor by_width;
  Divisor by_channels;
  Divisor by_pixels;
};

/// The coordinates of an element.
struct Coordinates {
  std::int64_t row = 0;
  std::int64_t d = 0;
  std::int64_t h = 0;
  std::int64_t w = 0;
  std::int64_t c = 0;
};
constexpr Coordinates coordinates_of(const Grid& v, std::int64_t i) {
  Coordinates place{};
  place.c = i % v.by_channels;
  i = i / v.by_channels;
  place.w = i % v.by_width;
  i = i / v.by_width;
  place.h = i % v.by_height;
  i = i / v.by_height;
  place.d = i % v.by_depth;
  place.row = i / v.by_depth;
  return place;
}
/// Returns the channels-first index, [rows, channels, depth, height, width], of element i.
constexpr std::int64_t plain_index(const Grid& v, std::int64_t i) {
  const std::int64_t c = i % v.by_channels;
  const std::int64_t pixel = i / v.by_channels;
  return (pixel / v.by_pixels * v.channels + c) * v.pixels() + pixel % v.by_pixels;
}

}  // namespace dllaunch::gpu
