#include "trainer/transforms/bilinear.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(Bilinear, HasPyTorchsWeights) {
  // interpolate(torch.tensor([[[0., 1]]]), size=4, mode="linear") is [0, 0.25, 0.75, 1].
  const AxisResize twice = resize_axis(2, 4);
  EXPECT_EQ(twice.from, (std::vector<int>{0, 0, 0, 1}));
  EXPECT_EQ(twice.step, (std::vector<int>{1, 1, 1, 0}));
  EXPECT_EQ(twice.weight, (std::vector<float>{0, 0.25, 0.75, 0.25}));
  const AxisResize half = resize_axis(8, 4);  // means of two neighbours
  EXPECT_EQ(half.from, (std::vector<int>{0, 2, 4, 6}));
  EXPECT_EQ(half.weight, (std::vector<float>{0.5, 0.5, 0.5, 0.5}));
  const AxisResize same = resize_axis(3, 3);
  EXPECT_EQ(same.weight, (std::vector<float>{0, 0, 0}));
}

TEST(Bilinear, StaysInside) {
  for (int from = 1; from < 40; ++from) {
    for (int to = 1; to < 40; ++to) {
      const AxisResize axis = resize_axis(from, to);
      ASSERT_EQ(axis.from.size(), static_cast<std::size_t>(to));
      for (std::size_t i = 0; i < axis.from.size(); ++i) {
        ASSERT_GE(axis.from[i], 0);
        ASSERT_LT(axis.from[i] + axis.step[i], from);
        ASSERT_GE(axis.weight[i], 0);
        ASSERT_LE(axis.weight[i], 1);
      }
    }
  }
}

}  // namespace
}  // namespace dllaunch
