#include "trainer/data/datasets/dataset.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace dllaunch {
namespace {

/// Two channels: the first counts 0, 1, 2, 3, ..., the second is constant.
class Counting : public Dataset {
 public:
  const ImageShape& image_shape() const override { return shape_; }
  const std::vector<std::string>& class_names() const override { return names_; }
  std::int64_t size(Split) const override { return 4; }
  Result<std::int32_t> read(Split, std::int64_t index,
                            std::span<std::uint8_t> pixels) const override {
    for (std::size_t p = 0; p < 4; ++p) {
      pixels[p] = static_cast<std::uint8_t>(static_cast<std::size_t>(index) * 4 + p);
      pixels[p + 4] = 200;
    }
    return 0;
  }

 private:
  ImageShape shape_{.channels = 2, .height = 2, .width = 2};
  std::vector<std::string> names_{"only"};
};

TEST(Dataset, MeasuresMeanAndDeviationPerChannel) {
  auto measured = measure_normalization(Counting());
  ASSERT_TRUE(measured);
  // 0..15: mean 7.5, variance (16^2 - 1) / 12.
  EXPECT_NEAR(measured->mean[0], 7.5 / 255, 1e-15);
  EXPECT_NEAR(measured->std[0], std::sqrt(255.0 / 12) / 255, 1e-15);
  EXPECT_NEAR(measured->mean[1], 200.0 / 255, 1e-15);
  EXPECT_EQ(measured->std[1], 1);
}

TEST(Dataset, TheTableHasEveryDataSetOnce) {
  for (const auto& entry : datasets()) {
    EXPECT_EQ(find_dataset(entry.name), &entry);
    EXPECT_FALSE(entry.summary.empty());
  }
  EXPECT_EQ(find_dataset("fashion_mnist"), nullptr);
}

}  // namespace
}  // namespace dllaunch
