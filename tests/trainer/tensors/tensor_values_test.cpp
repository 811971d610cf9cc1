#include "trainer/tensors/tensor_values.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "runtime/numerics/float16.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;

template <typename Raw>
Tensor tensor(DType type, const std::vector<Raw>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {.name = "t",
          .type = type,
          .shape = {std::ssize(values)},
          .data = {bytes.begin(), bytes.end()}};
}

TEST(TensorValues, AreReadFromEveryType) {
  EXPECT_THAT(values_of(tensor<float>(DType::f32, {1.5F, -2})), ElementsAre(1.5, -2));
  EXPECT_THAT(values_of(tensor<double>(DType::f64, {0.1})), ElementsAre(0.1));
  EXPECT_THAT(values_of(tensor<std::int64_t>(DType::i64, {-7, std::int64_t{1} << 53})),
              ElementsAre(-7, 0x1p53));
  // 1, the smallest subnormal, infinity.
  EXPECT_THAT(values_of(tensor<std::uint16_t>(DType::f16, {0x3c00, 0x0001, 0x7c00})),
              ElementsAre(1, 0x1p-24, std::numeric_limits<double>::infinity()));
  EXPECT_THAT(values_of(tensor<std::uint16_t>(DType::bf16, {0x3f80, 0xc000, 0x4049})),
              ElementsAre(1, -2, 3.140625));
  EXPECT_TRUE(values_of(tensor<float>(DType::f32, {})).empty());
}

/// All 65,536 values of both types are exact in single precision.
TEST(TensorValues, EveryHalfIsExactInSinglePrecision) {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  for (const DType type : {DType::f16, DType::bf16}) {
    const Tensor halves = tensor(type, all);
    const auto exact = values_of(halves);
    const auto single = values_of(as_type(halves, DType::f32));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const float expected =
          type == DType::f16 ? to_float(Float16{all[i]}) : to_float(BFloat16{all[i]});
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(exact[i]) && std::isnan(single[i])) << i;
      } else {
        ASSERT_EQ(exact[i], static_cast<double>(expected)) << i;
        ASSERT_EQ(single[i], exact[i]) << i;
      }
    }
  }
}

TEST(TensorValues, DoublesAreRounded) {
  const Tensor single = as_type(tensor<double>(DType::f64, {0.1, 1 + 0x1p-30}), DType::f32);
  EXPECT_EQ(single.type, DType::f32);
  EXPECT_THAT(values_of(single), ElementsAre(static_cast<double>(0.1F), 1));
}

TEST(TensorValues, CountsAreIntegers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> values = {2.6, -3, 1e300, nan};
  const Tensor counts{
      .name = "n", .type = DType::i64, .shape = {4}, .data = bytes_of(values, DType::i64)};
  EXPECT_THAT(values_of(counts), ElementsAre(3, -3, 0, 0));
}

TEST(TensorValues, OfTheRightTypeAreUnchanged) {
  const Tensor odd = tensor<std::uint32_t>(DType::f32, {0x7fc01234, 0x80000000});
  EXPECT_EQ(as_type(odd, DType::f32).data, odd.data);
}

}  // namespace
}  // namespace dllaunch
