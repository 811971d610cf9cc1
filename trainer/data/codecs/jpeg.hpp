// Decodes JPEG files; the only caller of libjpeg.
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
/// With `smallest` > 0, decodes at 1/2, 1/4 or 1/8 size if both sides keep at least that many
/// pixels: each output pixel is the mean of those it replaces, at a fraction of the cost.
/// bad_request: not a JPEG, truncated, damaged, with four colour channels, or larger than 2^26
/// pixels.
Result<JpegImage> decode_jpeg(std::span<const std::uint8_t> content, int channels, int smallest);

}  // namespace dllaunch
