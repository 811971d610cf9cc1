#include "trainer/commands/describe_stages.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/json.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

/// A training of synthetic images in two stages, with more keys at the end.
std::string resnet(const std::string& pipeline, const std::string& more = "") {
  return fmt::format(
      R"({{"model": "resnet50", "batch_size": 4, "accumulate": 8,
           "dataset": {{"kind": "synthetic", "channels": 3, "image_size": 64}},
           "runtime": {{"pipeline": {{{}}}}}{}}})",
      pipeline, more);
}

Json described(const std::string& config, int ranks = 2,
               std::optional<std::int64_t> memory_bytes = {}) {
  const auto text =
      describe_stages({.config = config, .ranks = ranks, .memory_bytes = memory_bytes});
  EXPECT_TRUE(text) << text.error().what;
  return text ? Json::parse(*text) : Json();
}

TEST(DescribeStages, SaysWhatEachRankHolds) {
  const Json two = described(resnet(R"("stages": 2)"));
  ASSERT_EQ(two["stages"].size(), 2u);
  EXPECT_EQ(two["micro_batches"], 8);
  EXPECT_GT(two["idle"].get<double>(), 1.0 / 9 - 1e-9);
  double share = 0;
  std::int64_t parameters = 0;
  for (const Json& stage : two["stages"]) {
    share += stage["share"].get<double>();
    parameters += stage["parameters"].get<std::int64_t>();
    EXPECT_GT(stage["activation_bytes"], 0);
  }
  EXPECT_NEAR(share, 1, 1e-9);
  EXPECT_EQ(parameters, 23'528'522);  // ResNet-50's with 10 classes
  EXPECT_EQ(two["stages"][0]["in_flight"], 2);
}

TEST(DescribeStages, RefusesWhatTheRanksWould) {
  const auto text = describe_stages({.config = R"({"model": "gpt2-tiny", "accumulate": 8,
      "dataset": {"kind": "synthetic", "sequence": 12, "classes": 50},
      "optimizer": {"name": "adamw", "shard": true}, "runtime": {"pipeline": {"stages": 2}}})",
                                     .ranks = 2});
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().what, HasSubstr("stages share transformer.wte.weight"));
}

TEST(DescribeStages, CountsTheStatesOfTheOptimizer) {
  const auto held = [](const std::string& more, int ranks) {
    std::int64_t bytes = 0;
    const Json document = described(resnet(R"("stages": 2)", more), ranks);
    for (const Json& stage : document["stages"]) {
      bytes += stage["held_bytes"].get<std::int64_t>();
    }
    return static_cast<double>(bytes) / 23'528'522.0;
  };
  EXPECT_NEAR(held(R"(, "optimizer": {"name": "adamw"})", 2), 16, 0.01);
  EXPECT_NEAR(held(R"(, "optimizer": {"name": "adamw"}, "ema": {"decay": 0.9})", 2), 20, 0.01);
  EXPECT_NEAR(held(R"(, "optimizer": {"name": "adamw", "shard": true})", 8), 10, 0.01);
}

TEST(DescribeStages, TheGlobalBatchGivesTheMicroBatches) {
  const auto config = resnet(R"("stages": 2)", R"(, "global_batch": 100)");
  EXPECT_EQ(described(config, 2)["micro_batches"], 25);
  EXPECT_EQ(described(config, 4)["micro_batches"], 13);
}

TEST(DescribeStages, KnowsTokensWithoutTheirFiles) {
  const std::string config =
      R"({"model": "gpt2", "batch_size": 1, "accumulate": 4, "dataset": {"kind": "tokens",
          "path": "/nowhere"}, "runtime": {"pipeline": {"stages": 2}}})";
  EXPECT_EQ(described(config)["stages"].size(), 2u);
}

TEST(DescribeStages, SaysWhatItDoesNotKnow) {
  const std::string config =
      R"({"model": "resnet50", "dataset": {"kind": "image-folder", "path": "/nowhere"},
          "runtime": {"pipeline": {"stages": 2}}})";
  const Json document = described(config);
  EXPECT_FALSE(document.contains("stages"));
  EXPECT_THAT(document["unknown"].get<std::string>(), HasSubstr("/nowhere"));
}

TEST(DescribeStages, SaysThatNothingFits) {
  const Json small = described(resnet(R"("stages": 2)"), 2, 1 << 20);
  EXPECT_EQ(small["stages"].size(), 2u);
  EXPECT_THAT(small["too_large"].get<std::string>(), HasSubstr("no cut into 2 stages fits"));
  EXPECT_FALSE(described(resnet(R"("stages": 2)"), 2, std::int64_t{1} << 40).contains("too_large"));
}

TEST(DescribeStages, RefusesAnImpossibleCut) {
  const auto text =
      describe_stages({.config = resnet(R"("stages": 2, "cut": ["conv9"])"), .ranks = 2});
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().what, "runtime.pipeline.cut: model resnet50 has no layer conv9");
  EXPECT_FALSE(describe_stages({.config = "{", .ranks = 2}));
}

TEST(DescribeStages, ParsesItsQuestion) {
  const auto question = parse_stages_question({"{}", "4", "1000"});
  ASSERT_TRUE(question);
  EXPECT_EQ(question->ranks, 4);
  EXPECT_EQ(question->memory_bytes, 1000);
  EXPECT_FALSE(parse_stages_question({"{}", "4"})->memory_bytes);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"{}"},
                                                {"{}", "0"},
                                                {"{}", "x"},
                                                {"{}", "1", "-3"},
                                                {"{}", "1", "2", "3"}}) {
    EXPECT_FALSE(parse_stages_question(words));
  }
}

std::string alexnet(const std::string& layers) {
  return R"({"model": "alexnet_bn", "batch_size": 4, "optimizer": {"name": "adamw"},
             "dataset": {"kind": "synthetic", "channels": 3, "image_size": 227, "classes": 1000},
             "runtime": {"split_dense": )" +
         layers + "}}";
}

TEST(DescribeStages, SaysWhatARankHoldsOfSplitLayers) {
  const Json two = described(alexnet(R"(["fc6", "fc7"])"));
  ASSERT_EQ(two["layers"].size(), 2u);
  EXPECT_EQ(two["layers"][0], Json::parse(R"({"name": "fc6", "columns": 4096, "of_rank": 2048})"));
  constexpr std::int64_t bytes = 16;  // a weight, its gradient and its two moments
  EXPECT_EQ(two["whole_bytes"], bytes * 62'379'720);
  constexpr std::int64_t split = 4096 * (9216 + 1) + 4096 * (4096 + 1);
  EXPECT_EQ(two["held_bytes"], bytes * (62'379'720 - split / 2));
  EXPECT_GT(two["activation_bytes"], 0);
  EXPECT_EQ(described(alexnet(R"(["fc8"])"), 3)["layers"][0]["of_rank"], 334);
  const Json one = described(alexnet(R"(["fc6"])"), 1);
  EXPECT_TRUE(one["layers"].empty());
  EXPECT_EQ(one["held_bytes"], one["whole_bytes"]);
}

TEST(DescribeStages, NamesTheDenseLayersThereAre) {
  const auto text = describe_stages({.config = alexnet(R"(["fc9"])"), .ranks = 2});
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().what, "runtime.split_dense: model alexnet_bn has no dense layer fc9");
  EXPECT_EQ(text.error().hint, "its dense layers: fc6, fc7, fc8");
}

}  // namespace
}  // namespace dllaunch
