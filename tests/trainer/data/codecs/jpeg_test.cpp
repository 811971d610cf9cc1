#include "trainer/data/codecs/jpeg.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/checkpoints/mutation.hpp"
#include "tests/trainer/data/codecs/jpeg_bytes.hpp"
#include "tests/trainer/data/datasets/npy_bytes.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

Result<JpegImage> decoded(const std::string& bytes, int channels = 3, int smallest = 0) {
  return decode_jpeg(as_file(bytes), channels, smallest);
}

/// Left half dark, right half light, the lower rows redder.
std::string picture(int height, int width) {
  std::vector<std::uint8_t> pixels;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int grey = x < width / 2 ? 40 : 200;
      pixels.push_back(static_cast<std::uint8_t>(std::min(255, grey + 50 * y / height)));
      pixels.push_back(static_cast<std::uint8_t>(grey));
      pixels.push_back(static_cast<std::uint8_t>(grey));
    }
  }
  return jpeg_bytes(pixels, height, width);
}

TEST(Jpeg, DecodesColoursAndPositions) {
  auto image = decoded(picture(16, 48));
  ASSERT_TRUE(image) << image.error().what;
  EXPECT_EQ(image->height, 16);
  EXPECT_EQ(image->width, 48);
  ASSERT_EQ(image->pixels.size(), 16u * 48 * 3);
  EXPECT_NEAR(image->pixels[1], 40, 3);
  EXPECT_NEAR(image->pixels[47 * 3 + 2], 200, 3);
  EXPECT_NEAR(image->pixels[(15 * 48 + 47) * 3], 247, 4);
}

TEST(Jpeg, DecodesToTheRequestedChannels) {
  auto grey = decoded(plain_jpeg(8, 8, {250, 10, 10}), 1);
  ASSERT_TRUE(grey);
  EXPECT_EQ(grey->pixels.size(), 64u);
  EXPECT_NEAR(grey->pixels[30], 0.299 * 250 + 0.587 * 10 + 0.114 * 10, 3);
  auto colour = decoded(plain_jpeg(8, 8, {77}), 3);
  ASSERT_TRUE(colour) << colour.error().what;
  EXPECT_EQ(colour->pixels.size(), 192u);
  EXPECT_EQ(colour->pixels[5], colour->pixels[3]);
}

TEST(Jpeg, DecodesLargeImagesAtReducedSize) {
  const std::string bytes = picture(400, 600);
  const auto size = [&](int smallest) {
    auto image = decoded(bytes, 3, smallest);
    return image ? std::pair(image->height, image->width) : std::pair(0, 0);
  };
  EXPECT_EQ(size(0), std::pair(400, 600));
  EXPECT_EQ(size(300), std::pair(400, 600));
  EXPECT_EQ(size(200), std::pair(200, 300));
  EXPECT_EQ(size(128), std::pair(200, 300));
  EXPECT_EQ(size(100), std::pair(100, 150));
  EXPECT_EQ(size(50), std::pair(50, 75));
  EXPECT_EQ(size(1), std::pair(50, 75));
  EXPECT_EQ(size(500), std::pair(400, 600));
  auto small = decoded(bytes, 3, 50);
  ASSERT_TRUE(small);
  EXPECT_NEAR(small->pixels[1], 40, 3);
  EXPECT_NEAR(small->pixels[74 * 3 + 1], 200, 3);
  EXPECT_EQ(size(1 << 29), std::pair(400, 600));  // eight times this does not fit 32 bits
}

TEST(Jpeg, ReportsErrors) {
  const std::string sound = picture(64, 64);
  const auto what = [](const std::string& bytes) {
    auto image = decoded(bytes);
    return image ? "" : image.error().what;
  };
  EXPECT_EQ(what(""), "is not a JPEG");
  EXPECT_EQ(what("\x89PNG and so on"), "is not a JPEG");
  for (const std::size_t kept : {3, 20, 100, 300}) {
    EXPECT_THAT(what(sound.substr(0, kept)), HasSubstr("JPEG: ")) << kept;
  }
  EXPECT_THAT(what(sound.substr(0, sound.size() - 40)), HasSubstr("JPEG: "));
  EXPECT_EQ(what(plain_jpeg(8, 8, {1, 2, 3, 4})), "has four colours (CMYK)");
  std::string huge = sound;
  const auto frame = huge.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  huge.replace(frame + 5, 4, "\xff\xdc\xff\xdc");
  EXPECT_EQ(what(huge), "has 65500x65500 pixels, more than 2^26");
}

TEST(Jpeg, IgnoresTrailingBytes) {
  EXPECT_TRUE(decoded(picture(16, 16) + std::string(100, '\0')));
}

TEST(Jpeg, SurvivesDamage) {
  const std::string sound = picture(48, 40);
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    std::string bytes = mutated(sound, seed);
    // Keeps the extents small: large images would only take time.
    const auto frame = sound.find("\xff\xc0");
    if (bytes.size() > frame + 9) bytes.replace(frame, 9, sound, frame, 9);
    auto image = decoded(bytes, seed % 2 == 0 ? 1 : 3, seed % 3 == 0 ? 8 : 0);
    refused += image ? 0 : 1;
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace dllaunch
