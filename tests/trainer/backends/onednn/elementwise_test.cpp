#include "trainer/backends/onednn/elementwise.hpp"

#include <gtest/gtest.h>

#include "runtime/numerics/float16.hpp"

namespace dllaunch::onednn {
namespace {

using dnnl::memory;

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// Multiples of the vector width, others, and less than one vector.
constexpr memory::dim counts[] = {1, 7, 16, 33, 1000};

TEST(Elementwise, AddsFloats) {
  for (const memory::dim count : counts) {
    const memory::desc layout({count}, memory::data_type::f32, memory::format_tag::a);
    const memory a(layout, cpu());
    const memory b(layout, cpu());
    const memory total(layout, cpu());
    auto* const x = static_cast<float*>(a.get_data_handle());
    auto* const y = static_cast<float*>(b.get_data_handle());
    for (memory::dim i = 0; i < count; ++i) {
      x[i] = static_cast<float>(i);
      y[i] = 0.5F;
    }
    add_elements(a, b, total);
    add_elements(a, b, b);
    const auto* const sum = static_cast<const float*>(total.get_data_handle());
    for (memory::dim i = 0; i < count; ++i) {
      ASSERT_EQ(sum[i], static_cast<float>(i) + 0.5F) << i << " of " << count;
      ASSERT_EQ(y[i], sum[i]) << "in place";
    }
  }
}

TEST(Elementwise, AddsBFloat16InFloat) {
  for (const memory::dim count : counts) {
    const memory::desc layout({count}, memory::data_type::bf16, memory::format_tag::a);
    const memory a(layout, cpu());
    const memory b(layout, cpu());
    auto* const x = static_cast<BFloat16*>(a.get_data_handle());
    auto* const y = static_cast<BFloat16*>(b.get_data_handle());
    for (memory::dim i = 0; i < count; ++i) {
      x[i] = to_bfloat16(static_cast<float>(i % 100));
      y[i] = to_bfloat16(0.25F);
    }
    add_elements(a, b, a);
    for (memory::dim i = 0; i < count; ++i) {
      const BFloat16 expected = to_bfloat16(static_cast<float>(i % 100) + 0.25F);
      ASSERT_EQ(x[i].bits, expected.bits) << i << " of " << count;
    }
  }
}

TEST(Elementwise, AddsWhatPadsToo) {
  const memory::desc layout({1, 3, 1, 1}, memory::data_type::f32, memory::format_tag::nChw16c);
  const memory a(layout, cpu());
  const memory b(layout, cpu());
  auto* const x = static_cast<float*>(a.get_data_handle());
  auto* const y = static_cast<float*>(b.get_data_handle());
  std::fill_n(x, 16, 1.F);
  std::fill_n(y, 16, 2.F);
  add_elements(a, b, a);
  EXPECT_EQ(x[15], 3.F);
}

}  // namespace
}  // namespace dllaunch::onednn
