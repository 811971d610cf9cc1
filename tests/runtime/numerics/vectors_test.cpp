#include "runtime/numerics/vectors.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <vector>

namespace dllaunch {
namespace {

template <typename T, std::size_t lanes>
void round_trip(const std::vector<T>& values) {
  std::vector<T> back(values.size());
  for (std::size_t i = 0; i + lanes <= values.size(); i += lanes) {
    Vector<Accumulator<T>, lanes> x;
    load_vector<T, lanes>(reinterpret_cast<const std::byte*>(&values[i]), x);
    store_vector<T, lanes>(x, reinterpret_cast<std::byte*>(&back[i]));
  }
  EXPECT_EQ(std::memcmp(back.data(), values.data(), values.size() * sizeof(T)), 0);
}

/// Every finite 16-bit number.
template <typename T>
std::vector<T> all_finite() {
  std::vector<T> all;
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const T value{static_cast<std::uint16_t>(bits)};
    const float x = to_float(value);
    if (x - x == 0) all.push_back(value);
  }
  all.resize(all.size() / 16 * 16);
  return all;
}

TEST(Vectors, StoreWhatTheyLoaded) {
  std::vector<float> floats(64);
  std::vector<double> doubles(64);
  for (std::size_t i = 0; i < 64; ++i) doubles[i] = floats[i] = static_cast<float>(i) * 0.1F;
  round_trip<float, 1>(floats);
  round_trip<float, 4>(floats);
  round_trip<float, 16>(floats);
  round_trip<double, 2>(doubles);
  round_trip<double, 8>(doubles);
  round_trip<BFloat16, 1>(all_finite<BFloat16>());
  round_trip<BFloat16, 8>(all_finite<BFloat16>());
  round_trip<BFloat16, 16>(all_finite<BFloat16>());
  round_trip<Float16, 4>(all_finite<Float16>());
  round_trip<Float16, 16>(all_finite<Float16>());
}

TEST(Vectors, HalfPrecisionIsRoundedAsOneNumberIs) {
  alignas(64) std::uint16_t halves[16];
  Vector<float, 16> x;
  for (std::size_t i = 0; i < 16; ++i) x[i] = 1.F + static_cast<float>(i) * 0.0009F;
  store_vector<BFloat16, 16>(x, reinterpret_cast<std::byte*>(halves));
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(halves[i], to_bfloat16(x[i]).bits);
  store_vector<Float16, 16>(x, reinterpret_cast<std::byte*>(halves));
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(halves[i], to_float16(x[i]).bits);
}

}  // namespace
}  // namespace dllaunch
