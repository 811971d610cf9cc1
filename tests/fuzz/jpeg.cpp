// JPEG files.
#include "trainer/data/codecs/jpeg.hpp"

#include "tests/fuzz/must_hold.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  // Damage makes a few bytes promise many pixels: what these cost is known, and is not looked for.
  for (std::size_t i = 0; i + 8 < size; ++i) {
    const bool frame = data[i] == 0xff && data[i + 1] >= 0xc0 && data[i + 1] <= 0xc2;
    if (frame && (data[i + 5] > 2 || data[i + 7] > 2)) return 0;
  }
  for (const int channels : {1, 3}) {
    const auto image = decode_jpeg({data, size}, channels, channels == 1 ? 0 : 4);
    if (!image) {
      must_hold(!image.error().what.empty(), "it says what is wrong");
      continue;
    }
    must_hold(image->height > 0 && image->width > 0, "it has pixels");
    const auto pixels =
        static_cast<std::size_t>(image->height) * static_cast<std::size_t>(image->width);
    must_hold(image->pixels.size() == pixels * static_cast<std::size_t>(channels), "all of them");
  }
  return 0;
}
