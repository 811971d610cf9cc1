#include "trainer/backends/gpu/layers/dropout_masks.hpp"

#include <gtest/gtest.h>

namespace dllaunch::gpu {
namespace {

TEST(DropoutMasks, AreThoseOfTheBatchAndTheLayer) {
  GraphBuilder net("two", {8});
  net.add("first", Dropout{.rate = 0.5});
  net.add("fc", Dense{.units = 8});
  net.add("second", Dropout{.rate = 0.25});
  const auto graph = std::move(net).finish();
  ASSERT_TRUE(graph);
  DeviceMemory memory;
  DropoutMasks masks(*graph, memory);
  memory.place();
  ASSERT_EQ(memory.allocate(), gpu_success);
  for (const std::uint64_t key : {7, 8}) {
    masks.draw(nullptr, key);
    EXPECT_TRUE(gpu_owns(masks.at(1)));
    const DropoutMask first(key, "first", 0.5);
    const DropoutMask second(key, "second", 0.25);
    for (std::uint64_t element = 0; element < 64; ++element) {
      EXPECT_EQ(masks.at(1)->keeps(element), first.keeps(element));
      EXPECT_EQ(masks.at(3)->keeps(element), second.keeps(element));
    }
  }
}

}  // namespace
}  // namespace dllaunch::gpu
