// Which primitives run. backend_test.cpp compares the numbers.
#include <gtest/gtest.h>

#include "tests/trainer/backends/onednn/step_names.hpp"

namespace dllaunch {
namespace {

bool runs(const std::vector<std::string>& work, const std::string& name) {
  return std::find(work.begin(), work.end(), name) != work.end();
}

TEST(OneDnnActivation, RunsInsideTheLayerBeforeIt) {
  for (const Operation& activation : {Operation(Relu{}), Operation(Tanh{})}) {
    GraphBuilder net("m", {2, 8, 8});
    net.add("conv", Conv2d{.channels = 4, .kernel = 3});
    net.add("first", activation);
    net.add("flatten", Flatten{});
    net.add("fc1", Dense{.units = 5});
    net.add("second", activation);
    net.add("fc2", Dense{.units = 3});
    const auto graph = std::move(net).finish();
    ASSERT_TRUE(graph);
    const auto work = onednn_work(*graph);
    EXPECT_FALSE(runs(work, "first forward"));
    EXPECT_FALSE(runs(work, "second forward"));
    EXPECT_TRUE(runs(work, "first backward"));
    EXPECT_TRUE(runs(work, "second backward"));
  }
}

TEST(OneDnnActivation, StandsAloneAfterAPool) {
  GraphBuilder net("m", {2, 8, 8});
  net.add("conv", Conv2d{.channels = 4, .kernel = 3});
  net.add("pool", MaxPool2d{});
  net.add("relu", Relu{});
  net.add("flatten", Flatten{});
  net.add("fc", Dense{.units = 3});
  const auto graph = std::move(net).finish();
  ASSERT_TRUE(graph);
  const auto work = onednn_work(*graph);
  EXPECT_TRUE(runs(work, "relu forward"));
  EXPECT_TRUE(runs(work, "relu backward"));
}

TEST(OneDnnActivation, OfTheInputHasNoBackwardPass) {
  GraphBuilder net("m", {1, 4, 4});
  net.add("tanh", Tanh{});
  net.add("flatten", Flatten{});
  net.add("fc", Dense{.units = 3});
  const auto graph = std::move(net).finish();
  ASSERT_TRUE(graph);
  EXPECT_EQ(onednn_work(*graph),
            (std::vector<std::string>{"tanh forward", "fc forward", "fc backward weights"}));
}

}  // namespace
}  // namespace dllaunch
