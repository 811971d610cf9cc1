#include "trainer/backends/gpu/layers/convolution_extents.hpp"

#include <gtest/gtest.h>

#include <set>

namespace dllaunch::gpu {
namespace {

const ConvolutionShape image{.type = DType::bf16,
                             .x = {8, 1, 32, 30, 16},
                             .y = {8, 1, 16, 15, 24},
                             .window = {{1, 3, 3}, {1, 2, 2}, {0, 1, 1}}};
const ConvolutionShape volume{.type = DType::f32,
                              .x = {2, 9, 8, 7, 4},
                              .y = {2, 4, 8, 7, 6},
                              .window = {{3, 3, 1}, {2, 1, 1}, {0, 1, 0}}};

TEST(ConvolutionExtents, StridesSayThatChannelsLieLast) {
  const Extents flat = extents_of(image.x, true);
  EXPECT_EQ(flat.sizes, (std::vector<std::int64_t>{8, 16, 32, 30}));
  EXPECT_EQ(flat.strides, (std::vector<std::int64_t>{32 * 30 * 16, 1, 30 * 16, 16}));
  const Extents deep = extents_of(volume.x, false);
  EXPECT_EQ(deep.sizes, (std::vector<std::int64_t>{2, 4, 9, 8, 7}));
  EXPECT_EQ(deep.strides, (std::vector<std::int64_t>{9 * 8 * 7 * 4, 1, 8 * 7 * 4, 7 * 4, 4}));
  EXPECT_TRUE(is_flat(image));
  EXPECT_FALSE(is_flat(volume));
}

/// Every element's address by the strides equals ours.
TEST(ConvolutionExtents, AddressesAreOurs) {
  const Extents deep = extents_of(volume.x, false);
  for (std::int64_t i = 0; i < volume.x.elements(); ++i) {
    const Coordinates p = coordinates_of(volume.x, i);
    const auto& s = deep.strides;
    EXPECT_EQ(p.row * s[0] + p.c * s[1] + p.d * s[2] + p.h * s[3] + p.w * s[4], i);
  }
}

TEST(ConvolutionExtents, KeysTellShapesApart) {
  std::set<std::string> keys;
  ConvolutionShape other = image;
  other.window.padding[2] = 0;
  ConvolutionShape single = image;
  single.type = DType::f32;
  ConvolutionShape rounded = single;
  rounded.tf32 = true;
  for (const ConvolutionShape& shape : {image, volume, other, single, rounded}) {
    for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weights}) {
      keys.insert(text_of(shape, pass));
    }
  }
  EXPECT_EQ(keys.size(), 15u);
  EXPECT_EQ(text_of(image, Pass::backward_data),
            "data,bf16,x8x16x1x32x30,y8x24x1x16x15,k1x3x3,s1x2x2,p0x1x1");
}

}  // namespace
}  // namespace dllaunch::gpu
