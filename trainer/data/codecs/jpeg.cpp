#include "trainer/data/codecs/jpeg.hpp"

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <string>

#include <fmt/core.h>
#include <jpeglib.h>

#include <jerror.h>

namespace dllaunch {
namespace {

constexpr std::int64_t most_pixels = std::int64_t{1} << 26;

/// libjpeg's error handler. A fatal error jumps back to the caller of the library.
struct JpegErrors {
  jpeg_error_mgr library;  // first: libjpeg only knows this part
  std::jmp_buf caller;
  char message[JMSG_LENGTH_MAX];
};

JpegErrors& errors_of(j_common_ptr jpeg) {
  return *reinterpret_cast<JpegErrors*>(jpeg->err);
}

[[noreturn]] void give_up(j_common_ptr jpeg) {
  JpegErrors& errors = errors_of(jpeg);
  (*errors.library.format_message)(jpeg, errors.message);
  std::longjmp(errors.caller, 1);
}

/// For damaged data libjpeg produces grey stripes and a warning, which counts as an error here.
/// Format warnings, common in files from cameras and web servers, do not.
void hear_warning(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  switch (jpeg->err->msg_code) {
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_ADOBE_XFORM:
    case JWRN_JFIF_MAJOR:
      return;
    default:
      give_up(jpeg);
  }
}

void say_nothing(j_common_ptr) {}

/// Owns libjpeg's allocations. Must live outside the function that longjmp returns to.
struct Decompressor {
  jpeg_decompress_struct jpeg{};
  JpegErrors errors{};

  Decompressor() {
    jpeg.err = jpeg_std_error(&errors.library);
    errors.library.error_exit = give_up;
    errors.library.emit_message = hear_warning;
    errors.library.output_message = say_nothing;
  }
  ~Decompressor() { jpeg_destroy_decompress(&jpeg); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
};

unsigned scale_for(const jpeg_decompress_struct& jpeg, int smallest) {
  constexpr unsigned whole = 8;
  if (smallest <= 0) return whole;
  const std::uint64_t side = static_cast<std::uint64_t>(smallest) * whole;
  const std::uint64_t shorter = std::min(jpeg.image_width, jpeg.image_height);
  for (const unsigned eighths : {1U, 2U, 4U}) {
    if (shorter * eighths >= side) return eighths;
  }
  return whole;
}

// No object with a destructor may be created between setjmp and longjmp. Hence three functions,
// each of which returns false after a jump.

bool read_header(Decompressor& decompressor, std::span<const std::uint8_t> content) {
  if (setjmp(decompressor.errors.caller) != 0) return false;
  jpeg_create_decompress(&decompressor.jpeg);
  jpeg_mem_src(&decompressor.jpeg, content.data(), content.size());
  jpeg_read_header(&decompressor.jpeg, TRUE);
  return true;
}

bool start(Decompressor& decompressor) {
  if (setjmp(decompressor.errors.caller) != 0) return false;
  jpeg_start_decompress(&decompressor.jpeg);
  return true;
}

bool read_rows(Decompressor& decompressor, std::uint8_t* pixels, std::size_t row_bytes) {
  if (setjmp(decompressor.errors.caller) != 0) return false;
  auto& jpeg = decompressor.jpeg;
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = pixels + row_bytes * jpeg.output_scanline;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}

Error damaged(const Decompressor& decompressor) {
  return {ErrorKind::bad_request, std::string("JPEG: ") + decompressor.errors.message, ""};
}

}  // namespace

Result<JpegImage> decode_jpeg(std::span<const std::uint8_t> content, int channels, int smallest) {
  if (content.size() < 2 || content[0] != 0xff || content[1] != 0xd8) {
    return Error{ErrorKind::bad_request, "is not a JPEG", ""};
  }
  Decompressor decompressor;
  if (!read_header(decompressor, content)) return damaged(decompressor);
  auto& jpeg = decompressor.jpeg;
  if (std::int64_t{jpeg.image_width} * std::int64_t{jpeg.image_height} > most_pixels) {
    return Error{
        ErrorKind::bad_request,
        fmt::format("has {}x{} pixels, more than 2^26", jpeg.image_width, jpeg.image_height), ""};
  }
  if (jpeg.num_components == 4) {
    return Error{ErrorKind::bad_request, "has four colours (CMYK)", "convert it to RGB"};
  }
  jpeg.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg.scale_num = scale_for(jpeg, smallest);
  jpeg.scale_denom = 8;
  if (!start(decompressor)) return damaged(decompressor);
  JpegImage image{.height = static_cast<int>(jpeg.output_height),
                  .width = static_cast<int>(jpeg.output_width),
                  .pixels = {}};
  const std::size_t row_bytes = std::size_t{jpeg.output_width} * static_cast<std::size_t>(channels);
  image.pixels.resize(row_bytes * jpeg.output_height);
  if (!read_rows(decompressor, image.pixels.data(), row_bytes)) return damaged(decompressor);
  return image;
}

}  // namespace dllaunch
