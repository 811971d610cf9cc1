#include "trainer/backends/onednn/channel_layout.hpp"

#include <gtest/gtest.h>

namespace dllaunch::onednn {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

memory::desc floats(const memory::dims& dims, Tag tag) {
  return {dims, memory::data_type::f32, tag};
}

void expect_layout(const memory::desc& desc, const ChannelLayout& expected) {
  const auto found = channel_layout(desc);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->rows, expected.rows);
  EXPECT_EQ(found->groups, expected.groups);
  EXPECT_EQ(found->pixels, expected.pixels);
  EXPECT_EQ(found->lanes, expected.lanes);
  EXPECT_EQ(found->row_bytes, expected.row_bytes);
  EXPECT_EQ(found->group_bytes, expected.group_bytes);
}

TEST(ChannelLayout, KnowsTheLayoutsThatConvolutionsWrite) {
  expect_layout(floats({5, 17, 3, 4}, Tag::nChw16c), {5, 2, 12, 16, 2 * 12 * 16 * 4, 12 * 16 * 4});
  expect_layout(floats({5, 17, 3, 4}, Tag::nChw8c), {5, 3, 12, 8, 3 * 12 * 8 * 4, 12 * 8 * 4});
  expect_layout(floats({5, 17, 3, 4}, Tag::nchw), {5, 17, 12, 1, 17 * 12 * 4, 12 * 4});
  expect_layout(floats({5, 17, 3, 4}, Tag::nhwc), {5, 1, 12, 17, 12 * 17 * 4, 12 * 17 * 4});
  expect_layout(floats({5, 17}, Tag::nc), {5, 1, 1, 17, 17 * 4, 17 * 4});
  expect_layout({{2, 32, 3, 3}, memory::data_type::bf16, Tag::nChw16c},
                {2, 2, 9, 16, 2 * 9 * 16 * 2, 9 * 16 * 2});
  expect_layout(floats({2, 32, 2, 3, 3}, Tag::nCdhw16c),
                {2, 2, 18, 16, 2 * 18 * 16 * 4, 18 * 16 * 4});
}

TEST(ChannelLayout, RefusesOthers) {
  EXPECT_FALSE(channel_layout(floats({32, 16, 3, 3}, Tag::NChw16n16c)));
  EXPECT_FALSE(channel_layout(floats({4, 16, 3, 5}, Tag::abdc)));
  EXPECT_FALSE(channel_layout(floats({4}, Tag::a)));
}

}  // namespace
}  // namespace dllaunch::onednn
