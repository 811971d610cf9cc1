// Which primitives run. backend_test.cpp compares the numbers.
#include <gtest/gtest.h>

#include "tests/trainer/backends/onednn/step_names.hpp"

namespace dllaunch {
namespace {

std::vector<std::string> work_of(const std::vector<Operation>& operations) {
  GraphBuilder net("m", {2, 8, 8});
  net.add("conv", Conv2d{.channels = 4, .kernel = 1});
  for (std::size_t i = 0; i < operations.size(); ++i) {
    net.add("node" + std::to_string(i + 1), operations[i]);
  }
  net.add("flatten", Flatten{});
  net.add("fc", Dense{.units = 3});
  const auto graph = std::move(net).finish();
  EXPECT_TRUE(graph);
  return onednn_work(*graph);
}

TEST(OneDnnPooling, MasksTheGradientOfAReluOnTheSmallerSide) {
  EXPECT_EQ(
      work_of({Relu{}, MaxPool2d{}}),
      (std::vector<std::string>{"conv forward", "node2 forward", "fc forward",
                                "fc backward weights", "fc backward data", "node2 relu backward",
                                "node2 backward", "conv backward weights"}));
}

TEST(OneDnnPooling, LeavesOtherActivationsAlone) {
  const std::vector<std::string> expected{
      "conv forward",     "node2 forward",  "fc forward",     "fc backward weights",
      "fc backward data", "node2 backward", "node1 backward", "conv backward weights"};
  EXPECT_EQ(work_of({Tanh{}, MaxPool2d{}}), expected);
  EXPECT_EQ(work_of({Relu{}, AvgPool2d{}}), expected);
}

}  // namespace
}  // namespace dllaunch
