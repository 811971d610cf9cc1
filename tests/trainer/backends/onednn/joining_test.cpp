// Which primitives run. backend_test.cpp compares the numbers.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/trainer/backends/onednn/step_names.hpp"

namespace dllaunch {
namespace {

constexpr Conv2d of_16_channels{.channels = 16, .kernel = 3, .padding = 1, .bias = false};

Graph finished(GraphBuilder net) {
  net.add("pool", GlobalAvgPool{});
  net.add("fc", Dense{.units = 3});
  auto graph = std::move(net).finish();
  EXPECT_TRUE(graph);
  return *std::move(graph);
}

std::ptrdiff_t count_with(const std::vector<std::string>& work, const std::string& name) {
  return std::ranges::count_if(work, [&](const std::string& one) { return one.starts_with(name); });
}

TEST(OneDnnJoining, ABatchNormalisationAddsTheOtherBranchAndAppliesTheRelu) {
  GraphBuilder net("m", {2, 6, 6});
  const int x = net.add("conv1", of_16_channels);
  net.add("conv2", of_16_channels);
  const int branch = net.add("bn", BatchNorm{});
  net.add("add", Add{}, branch, x);
  net.add("relu", Relu{});
  const auto work = onednn_work(finished(std::move(net)));
  EXPECT_EQ(count_with(work, "bn forward"), 1);
  EXPECT_EQ(count_with(work, "bn backward weights"), 1);
  EXPECT_EQ(count_with(work, "bn backward data"), 1);
  EXPECT_EQ(count_with(work, "add"), 0);
  EXPECT_EQ(count_with(work, "relu"), 0);
}

TEST(OneDnnJoining, AnAdditionGoesBackWithoutWork) {
  GraphBuilder net("m", {2, 6, 6});
  const int x = net.add("conv1", of_16_channels);
  const int y = net.add("conv2", of_16_channels);
  net.add("add", Add{}, y, x);
  const auto work = onednn_work(finished(std::move(net)));
  EXPECT_EQ(count_with(work, "add forward"), 1);
  EXPECT_EQ(count_with(work, "add backward"), 0);
  EXPECT_EQ(count_with(work, "conv1 dy sum"), 1) << "two readers bring two gradients";
}

TEST(OneDnnJoining, ZerosAroundTheInputHaveNoBackwardPass) {
  GraphBuilder net("m", {2, 6, 6});
  net.add("pad", ZeroPad2d{});
  net.add("conv", of_16_channels);
  const auto work = onednn_work(finished(std::move(net)));
  EXPECT_EQ(count_with(work, "pad forward"), 1);
  EXPECT_EQ(count_with(work, "pad backward"), 0);
}

TEST(OneDnnJoining, ZerosAroundAnImageKeepItsLayout) {
  GraphBuilder net("m", {2, 6, 6});
  net.add("conv1", of_16_channels);
  net.add("pad", ZeroPad2d{});
  net.add("conv2", of_16_channels);
  const auto work = onednn_work(finished(std::move(net)));
  EXPECT_EQ(count_with(work, "pad"), 2) << "forward and backward";
}

TEST(OneDnnJoining, AnImageIsMadeAVectorOnlyWhereSomebodyTells) {
  GraphBuilder plain("m", {2, 6, 6});
  plain.add("conv", of_16_channels);
  plain.add("flatten", Flatten{});
  plain.add("fc1", Dense{.units = 4});
  auto graph = std::move(plain).finish();
  ASSERT_TRUE(graph);
  EXPECT_EQ(count_with(onednn_work(*graph), "flatten"), 0);

  GraphBuilder normed("m", {2, 6, 6});
  normed.add("conv", of_16_channels);
  normed.add("flatten", Flatten{});
  normed.add("bn", BatchNorm{});
  normed.add("fc1", Dense{.units = 4});
  graph = std::move(normed).finish();
  ASSERT_TRUE(graph);
  EXPECT_EQ(count_with(onednn_work(*graph), "flatten"), 2) << "forward and backward";
}

}  // namespace
}  // namespace dllaunch
