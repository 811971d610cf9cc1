// JPEG files: the one place that calls libjpeg.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

struct JpegImage {
  int height = 0;
  int width = 0;
  std::vector<std::uint8_t> pixels;  // [height, width, channels]
};

/// Decodes to 3 channels (RGB) or 1 (grey), whatever the file has.
///
/// With `smallest` > 0 the image is decoded at a half, a quarter or an eighth of its size where
/// both sides still have so many pixels: each output pixel is then a mean over those it replaces,
/// and most of the work is saved.
/// bad_request: no JPEG, cut off, damaged, in four colours, or of more than 2^26 pixels.
Result<JpegImage> decode_jpeg(std::span<const std::uint8_t> content, int channels, int smallest);

}  // namespace dllaunch
