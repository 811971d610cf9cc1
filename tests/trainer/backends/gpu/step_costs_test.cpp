// Minimum cost of a step: counted by hand for small graphs, published for known networks.
#include "bench/gpu/step_costs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "tests/trainer/backends/operation_cases.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch::gpu {
namespace {

/// Returns the costs by name; names must be unique.
std::map<std::string, PassCost> by_name(const Graph& graph, const StepKind& kind) {
  std::map<std::string, PassCost> passes;
  for (const PassCost& pass : step_costs(graph, kind)) {
    EXPECT_TRUE(passes.emplace(pass.name, pass).second) << pass.name;
  }
  return passes;
}

Graph model_named(std::string_view name, const ImageShape& image, int classes) {
  return *find_model(name)->build(image, classes);
}

double operations_of(const std::vector<PassCost>& passes, std::string_view ending) {
  double sum = 0;
  for (const PassCost& pass : passes) {
    if (pass.name.ends_with(ending)) sum += pass.operations;
  }
  return sum;
}

/// 5 images [2,8,8] -> conv [4,6,6], its bias -> relu -> flatten -> fc of 3, in half precision.
TEST(StepCosts, OfASmallNetworkAreThoseCountedByHand) {
  GraphBuilder net("m", {2, 8, 8});
  net.add("conv", Conv2d{.channels = 4, .kernel = 3});
  net.add("relu", Relu{});
  net.add("flatten", Flatten{});
  net.add("fc", Dense{.units = 3});
  const auto passes = by_name(*std::move(net).finish(), {.batch = 5, .type = DType::bf16});
  constexpr double x = 5 * 2 * 8 * 8;
  constexpr double y = 5 * 4 * 6 * 6;
  constexpr double w = 4 * 2 * 3 * 3;
  constexpr double fc = 3 * 4 * 6 * 6;
  const std::map<std::string, std::pair<double, double>> expected = {
      // operations, bytes
      {"conv weight", {0, w * (4 + 2)}},
      {"fc weight", {0, fc * (4 + 2)}},
      {"input", {0, x * (4 + 2)}},
      {"conv forward", {2 * y * 2 * 9, 2 * (x + w + y)}},
      {"conv bias", {0, 2 * (2 * y)}},
      {"relu forward", {0, 2 * (2 * y)}},
      {"flatten forward", {0, 2 * (2 * y)}},
      {"fc forward", {2 * 5 * fc, 2 * (y + fc + 15)}},
      {"fc bias", {0, 2 * (2 * 15)}},
      {"outputs", {0, 15 * (2 + 4)}},
      {"loss", {0, 15 * 4}},
      {"loss backward", {0, 15 * (4 + 2)}},
      {"fc backward bias", {0, 2 * 15}},
      {"fc backward weights", {2 * 5 * fc, 2 * (y + 15) + 4 * fc}},
      {"fc backward data", {2 * 5 * fc, 2 * (15 + fc + y)}},
      {"flatten backward", {0, 2 * (2 * y)}},
      {"relu backward", {0, 2 * (3 * y)}},
      {"conv backward bias", {0, 2 * y}},
      {"conv backward weights", {2 * y * 2 * 9, 2 * (x + y + w)}},
      {"conv gradient", {0, w * (2 + 4)}},
      {"update", {0, (w + 4 + fc + 3) * 20}},
  };
  EXPECT_EQ(passes.size(), expected.size());
  for (const auto& [name, cost] : expected) {
    ASSERT_TRUE(passes.contains(name)) << name;
    EXPECT_DOUBLE_EQ(passes.at(name).operations, cost.first) << name;
    EXPECT_DOUBLE_EQ(passes.at(name).bytes, cost.second) << name;
  }
}

/// conv, norm, relu; conv, norm, added to the first relu's output, relu.
Graph block() {
  GraphBuilder net("m", {3, 4, 4});
  net.add("conv1", Conv2d{.channels = 3, .kernel = 1, .bias = false});
  net.add("bn1", BatchNorm{});
  const int first = net.add("relu1", Relu{});
  net.add("conv2", Conv2d{.channels = 3, .kernel = 1, .bias = false});
  const int branch = net.add("bn2", BatchNorm{});
  net.add("add", Add{}, branch, first);
  net.add("relu2", Relu{});
  net.add("pool", GlobalAvgPool{});
  return *std::move(net).finish();
}

TEST(StepCosts, NormsAreCountedWithWhatIsJoinedToThem) {
  const auto passes = by_name(block(), {.batch = 2, .type = DType::f32});
  constexpr double all = 2 * 3 * 4 * 4 * 4;  // bytes
  constexpr double w = 3 * 3 * 4;
  EXPECT_DOUBLE_EQ(passes.at("bn1 moments").bytes, all);
  EXPECT_DOUBLE_EQ(passes.at("bn1 forward").bytes, 2 * all);
  EXPECT_DOUBLE_EQ(passes.at("bn2 forward").bytes, 3 * all) << "and what is added";
  EXPECT_DOUBLE_EQ(passes.at("bn2 grad sums").bytes, 3 * all) << "and the ReLU's mask";
  EXPECT_DOUBLE_EQ(passes.at("bn2 backward").bytes, 5 * all) << "to both that were added";
  EXPECT_DOUBLE_EQ(passes.at("conv2 backward data").bytes, 2 * all + w);
  EXPECT_DOUBLE_EQ(passes.at("conv2 addition").bytes, 3 * all) << "relu1 has a gradient already";
  for (const char* joined : {"add forward", "relu1 forward", "relu2 forward", "relu2 backward"}) {
    EXPECT_FALSE(passes.contains(joined)) << joined;
  }
  EXPECT_FALSE(passes.contains("conv1 weight")) << "single: nothing is converted";
  EXPECT_FALSE(passes.contains("conv1 backward data")) << "an image's gradient is not needed";
}

/// Forward, the products of scores and of outputs; backward, the scores again and four of
/// gradients.
TEST(StepCosts, OfAttentionGrowWithTheSquareOfTokens) {
  GraphBuilder net("m", {7});
  net.add("words", Embedding{.vocabulary = 5, .width = 24});
  net.add("attention", Attention{.heads = 2});
  const auto passes = by_name(*std::move(net).finish(), {.batch = 3, .type = DType::bf16});
  constexpr double y = 3 * 7 * 8;
  constexpr double scores = 3 * 2 * 7 * 7;
  EXPECT_DOUBLE_EQ(passes.at("attention forward").operations, 2 * 2 * y * 7);
  EXPECT_DOUBLE_EQ(passes.at("attention backward").operations, 5 * 2 * y * 7);
  EXPECT_DOUBLE_EQ(passes.at("attention forward").bytes, 2 * 4 * y + scores * (3 * 4 + 2 * 2));
}

TEST(StepCosts, WhatIsFrozenOrJumpedOverCostsNothing) {
  Graph graph = block();
  for (Parameter& parameter : graph.parameters) {
    parameter.frozen = !parameter.name.starts_with("conv2") && !parameter.name.starts_with("bn2");
  }
  const auto passes = by_name(graph, {.batch = 2, .type = DType::f32});
  EXPECT_FALSE(passes.contains("bn1 grad sums"));
  EXPECT_FALSE(passes.contains("conv2 backward data"));
  EXPECT_TRUE(passes.contains("conv2 backward weights"));
  EXPECT_DOUBLE_EQ(passes.at("update").bytes, (9 + 6) * 20);

  GraphBuilder net("m", {8, 9, 9});
  net.add("conv", Conv2d{.channels = 2, .kernel = 1, .stride = 2, .bias = false});
  net.add("pool", MaxPool2d{.kernel = 2, .stride = 2});
  net.add("all", GlobalAvgPool{});
  const auto jumps = by_name(*std::move(net).finish(), {.batch = 1, .type = DType::bf16});
  EXPECT_DOUBLE_EQ(jumps.at("conv forward").bytes, 2 * (8 * 5 * 5 + 16 + 2 * 5 * 5));
  EXPECT_DOUBLE_EQ(jumps.at("pool forward").bytes, 2 * (2 * 5 * 5 + 2 * 2 * 2) + 2 * (2 * 2 * 2));
  EXPECT_DOUBLE_EQ(jumps.at("pool backward").bytes, 2 * (2 * 2 * 2 + 2 * 5 * 5) + 2 * (2 * 2 * 2));
}

/// 4.09e9 multiply-adds per image forward: torchvision's figure.
TEST(StepCosts, ResNet50HasThePublishedNumberOfOperations) {
  const Graph graph = model_named("resnet50", {3, 224, 224}, 1000);
  const auto passes = step_costs(graph, {.batch = 1, .type = DType::bf16});
  const double forward = operations_of(passes, " forward");
  EXPECT_DOUBLE_EQ(forward, 2 * 4089184256.0);
  // Two backward passes per layer, except conv1's backward data.
  const double first = 2.0 * 64 * 112 * 112 * 3 * 49;
  EXPECT_DOUBLE_EQ(operations_of(passes, "weights"), forward);
  EXPECT_DOUBLE_EQ(operations_of(passes, "data"), forward - first);
  const auto update = std::ranges::find(passes, std::string("update"), &PassCost::name);
  EXPECT_DOUBLE_EQ(update->bytes, 25557032.0 * 20);
}

TEST(StepCosts, GrowWithTheBatchButForParameters) {
  const Graph graph = model_named("resnet50v2", {3, 128, 128}, 10);
  const auto one = step_costs(graph, {.batch = 1, .type = DType::bf16});
  const auto many = step_costs(graph, {.batch = 256, .type = DType::bf16});
  ASSERT_EQ(one.size(), many.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    const std::string& name = many[i].name;
    EXPECT_EQ(name, one[i].name);
    EXPECT_DOUBLE_EQ(many[i].operations, 256 * one[i].operations) << name;
    const bool parameters =
        name == "update" || name.ends_with(" weight") || name.ends_with(" gradient");
    EXPECT_EQ(many[i].bytes == one[i].bytes, parameters) << name;
    EXPECT_GE(many[i].bytes, one[i].bytes) << name;
  }
}

TEST(StepCosts, OfEveryOperationAreThere) {
  for (const OperationCase& one : operation_cases()) {
    SCOPED_TRACE(one.name);
    for (const PassCost& pass : step_costs(one.graph(), {.batch = 3, .type = DType::f16})) {
      EXPECT_GT(pass.bytes, 0) << pass.name;
    }
  }
}

TEST(StepCosts, EachPassIsHeldUpByOneCeiling) {
  const std::vector<PassCost> passes = {{"computes", 100, 10}, {"moves", 10, 30}, {"both", 20, 4}};
  const Floor floor = floor_of(passes, {.operations_per_s = 10, .bytes_per_s = 2});
  EXPECT_DOUBLE_EQ(floor.computing_s, 10);
  EXPECT_DOUBLE_EQ(floor.moving_s, 15 + 2);
  EXPECT_DOUBLE_EQ(floor.seconds(), 27);
}

}  // namespace
}  // namespace dllaunch::gpu
