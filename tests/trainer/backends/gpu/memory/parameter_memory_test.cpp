#include "trainer/backends/gpu/memory/parameter_memory.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace dllaunch::gpu {
namespace {

TEST(ParameterMemory, WeightsOfConvolutionsHaveChannelsLast) {
  GraphBuilder net("m", {2, 4, 4});
  net.add("conv", Conv2d{.channels = 3, .kernel = 2});
  net.add("flatten", Flatten{});
  net.add("fc", Dense{.units = 5});
  const auto graph = std::move(net).finish();
  ASSERT_TRUE(graph);
  std::vector<std::string> layouts;
  for (const ParameterSlot& slot : channels_last_slots(*graph)) layouts.push_back(slot.layout);
  EXPECT_EQ(layouts, (std::vector<std::string>{"plain", "plain", "channels last", "plain"}));
}

TEST(ParameterMemory, GoesThereAndBack) {
  const Shape shape = {2, 3, 2, 2};
  std::vector<float> plain(24);
  std::iota(plain.begin(), plain.end(), 0.F);
  std::vector<float> arena(24);
  to_channels_last(shape, plain.data(), arena.data());
  // Output 1, pixel (0, 1): channels 0, 1, 2.
  EXPECT_EQ((std::vector<float>{arena.begin() + 15, arena.begin() + 18}),
            (std::vector<float>{13, 17, 21}));
  std::vector<float> back(24);
  from_channels_last(shape, arena.data(), back.data());
  EXPECT_EQ(back, plain);
}

/// Weights and gradients may be in different memory, host or device.
TEST(ParameterMemory, ArenasOfTheHostAreFollowed) {
  GraphBuilder net("m", {3});
  net.add("fc", Dense{.units = 2, .bias = false});
  const auto graph = std::move(net).finish();
  ASSERT_TRUE(graph);
  ParameterMemory memory(*graph);
  std::vector<float> weights = {1, 2, 3, 4, 5, 6};
  void* gradients = nullptr;
  ASSERT_EQ(gpu_allocate(&gradients, 6 * sizeof(float)), gpu_success);
  ASSERT_EQ(memory.attach({weights.data()}, {gradients}), 0U);
  EXPECT_EQ(memory.gradient(0), gradients) << "used where it lies";
  EXPECT_NE(memory.weight(0), weights.data());
  memory.fetch_weights(nullptr);
  EXPECT_EQ((std::vector<float>{memory.weight(0), memory.weight(0) + 6}), weights);
  weights[2] = 9;
  memory.fetch_weights(nullptr);
  EXPECT_EQ(memory.weight(0)[2], 9);
  memory.gradient(0)[5] = 7;
  memory.give_gradient(nullptr, 0);
  EXPECT_EQ(static_cast<float*>(gradients)[5], 7);
  EXPECT_EQ(gpu_free(gradients), gpu_success);
}

}  // namespace
}  // namespace dllaunch::gpu
