// Which primitives run. backend_test.cpp compares the numbers.
#include <gtest/gtest.h>

#include "tests/trainer/backends/onednn/step_names.hpp"

namespace dllaunch {
namespace {

TEST(OneDnnDense, OfImageFeaturesComputesNoGradientOfThem) {
  GraphBuilder net("m", {1, 5, 5});
  net.add("flatten", Flatten{});
  net.add("fc1", Dense{.units = 8});
  net.add("relu", Relu{});
  net.add("fc2", Dense{.units = 4});
  const auto graph = std::move(net).finish();
  ASSERT_TRUE(graph);
  EXPECT_EQ(
      onednn_work(*graph),
      (std::vector<std::string>{"fc1 forward", "fc2 forward", "fc2 backward weights",
                                "fc2 backward data", "relu backward", "fc1 backward weights"}));
}

TEST(OneDnnDense, KeepsThePlainOrderOfFlattenedImages) {
  // Weight [u, c*h*w] counts up in plain order; the image is one at channel 1, row 0, column 2.
  GraphBuilder net("m", {2, 2, 3});
  net.add("flatten", Flatten{});
  net.add("fc", Dense{.units = 2, .bias = false});
  const auto graph = std::move(net).finish();
  ASSERT_TRUE(graph);
  Compiled compiled(backend_named("onednn"), *graph, {.batch = 1, .threads = 1});
  std::vector<double> weight(24);
  for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = static_cast<double>(i);
  compiled.set_weights({weight});
  std::vector<float> image(12, 0.F);
  image[8] = 1.F;
  const std::vector<std::int32_t> label{0};
  compiled->forward({.images = image, .labels = label, .count = 1}, Phase::evaluate);
  EXPECT_EQ(compiled->logits(), (std::vector<double>{8, 20}));
}

}  // namespace
}  // namespace dllaunch
