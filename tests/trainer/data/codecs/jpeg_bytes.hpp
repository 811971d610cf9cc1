// JPEG files for tests, encoded by libjpeg.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <jpeglib.h>

namespace dllaunch {

/// Pixels [height, width, channels], 3 channels or 1.
inline std::string jpeg_bytes(const std::vector<std::uint8_t>& pixels, int height, int width,
                              int quality = 95) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;  // NOLINT: libjpeg's type
  jpeg_mem_dest(&jpeg, &buffer, &size);
  const auto row_bytes = pixels.size() / static_cast<std::size_t>(height);
  jpeg.image_width = static_cast<JDIMENSION>(width);
  jpeg.image_height = static_cast<JDIMENSION>(height);
  jpeg.input_components = static_cast<int>(row_bytes) / width;
  jpeg.in_color_space = jpeg.input_components == 1   ? JCS_GRAYSCALE
                        : jpeg.input_components == 4 ? JCS_CMYK
                                                     : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, quality, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    auto* row = const_cast<JSAMPROW>(pixels.data() + row_bytes * jpeg.next_scanline);
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::string bytes(reinterpret_cast<char*>(buffer), size);
  jpeg_destroy_compress(&jpeg);
  std::free(buffer);
  return bytes;
}

/// A single colour survives compression within a level or two, at any scale.
inline std::string plain_jpeg(int height, int width, std::vector<std::uint8_t> colour) {
  std::vector<std::uint8_t> pixels;
  for (int i = 0; i < height * width; ++i) {
    pixels.insert(pixels.end(), colour.begin(), colour.end());
  }
  return jpeg_bytes(pixels, height, width);
}

}  // namespace dllaunch
