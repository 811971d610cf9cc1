#include "trainer/backends/onednn/versions.hpp"

#include <gmock/gmock.h>

namespace dllaunch::onednn {
namespace {

using dnnl::memory;
using testing::ElementsAre;
using testing::IsEmpty;

// 2 images of 12 channels in blocks of 8, 3 x 5 pixels.
memory::desc blocked(memory::data_type type) {
  return {{2, 12, 3, 5}, type, memory::format_tag::aBcd8b};
}

TEST(OneDnnVersions, BlocksAreThoseOfTheLayout) {
  const Blocking blocking = blocking_of(blocked(memory::data_type::f32));
  EXPECT_THAT(blocking.strides, ElementsAre(240, 120, 40, 8));
  EXPECT_THAT(blocking.padded, ElementsAre(2, 16, 3, 5));
  EXPECT_THAT(blocking.inner_sizes, ElementsAre(8));
  EXPECT_THAT(blocking.inner_axes, ElementsAre(1));
  EXPECT_EQ(blocking.offset, 0);
}

TEST(OneDnnVersions, APlainLayoutIsRetyped) {
  const memory::desc plain({4, 6}, memory::data_type::bf16, memory::format_tag::ab);
  const auto other = retyped(plain, memory::data_type::f32);
  ASSERT_TRUE(other);
  EXPECT_EQ(type_of(*other), memory::data_type::f32);
  EXPECT_THAT(dims_of(*other), ElementsAre(4, 6));
  EXPECT_THAT(blocking_of(*other).strides, ElementsAre(6, 1));
  EXPECT_THAT(blocking_of(*other).inner_sizes, IsEmpty());
}

TEST(OneDnnVersions, ABlockedLayoutKeepsItsBlocksOrIsNotRetyped) {
  const auto layout = blocked(memory::data_type::bf16);
  EXPECT_EQ(*retyped(layout, memory::data_type::bf16), layout);
  if (const auto other = retyped(layout, memory::data_type::f32)) {
    EXPECT_EQ(*other, blocked(memory::data_type::f32));
  }
}

}  // namespace
}  // namespace dllaunch::onednn
