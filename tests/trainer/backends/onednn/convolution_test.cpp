// Which primitives run. backend_test.cpp compares the numbers.
#include <gtest/gtest.h>

#include "tests/trainer/backends/onednn/step_names.hpp"

namespace dllaunch {
namespace {

Graph two_convolutions(int channels) {
  GraphBuilder net("m", {channels, 12, 12});
  net.add("conv1", Conv2d{.channels = 32, .kernel = 3, .padding = 1});
  net.add("conv2", Conv2d{.channels = 64, .kernel = 3, .padding = 1});
  net.add("flatten", Flatten{});
  net.add("fc", Dense{.units = 10});
  auto graph = std::move(net).finish();
  EXPECT_TRUE(graph);
  return *std::move(graph);
}

TEST(OneDnnConvolution, OfImagesComputesNoGradientOfThem) {
  for (const int channels : {1, 3}) {
    EXPECT_EQ(onednn_work(two_convolutions(channels)),
              (std::vector<std::string>{"conv1 forward", "conv2 forward", "fc forward",
                                        "fc backward weights", "fc backward data",
                                        "conv2 backward weights", "conv2 backward data",
                                        "conv1 backward weights"}));
  }
}

TEST(OneDnnConvolution, OfImagesIsVectorised) {
  if (!onednn_has_kernels()) GTEST_SKIP() << "this oneDNN has only reference code on Arm";
  for (const int channels : {1, 3}) {
    for (const std::string& step : onednn_steps(two_convolutions(channels), 32)) {
      EXPECT_EQ(step.find("ref"), std::string::npos) << step;
    }
  }
}

TEST(OneDnnConvolution, HandsActivationsOnAsTheyLie) {
  for (const std::string& step : onednn_steps(two_convolutions(3), 32)) {
    EXPECT_NE(step.rfind("conv2 x reorder", 0), 0U) << step;
    EXPECT_NE(step.rfind("conv1 dy reorder", 0), 0U) << step;
  }
}

TEST(OneDnnConvolution, MastersNeedNoReorderForward) {
  for (const std::string& step : onednn_steps(two_convolutions(3), 32)) {
    if (step.rfind("fc ", 0) == 0) break;  // the forward pass ends here
    EXPECT_EQ(step.find("weight reorder"), std::string::npos) << step;
  }
}

}  // namespace
}  // namespace dllaunch
