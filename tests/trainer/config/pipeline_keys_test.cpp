#include "trainer/config/pipeline_keys.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Result<TrainConfig> parse(const std::string& runtime, const std::string& keys = "") {
  return parse_config(fmt::format(R"({{"model": "lenet", {} "runtime": {{{}}}}})", keys, runtime));
}

TEST(PipelineKeys, AreRead) {
  const auto config = parse(R"("pipeline": {"stages": 3, "cut": ["pool1", "fc1"]})");
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->runtime.pipeline.stages, 3);
  EXPECT_THAT(config->runtime.pipeline.cut, ElementsAre("pool1", "fc1"));
}

TEST(PipelineKeys, OneStageByDefault) {
  for (const char* runtime : {"", R"("pipeline": {"cut": null})", R"("pipeline": {"cut": []})"}) {
    const auto config = parse(runtime);
    ASSERT_TRUE(config) << config.error().what;
    EXPECT_EQ(config->runtime.pipeline.stages, 1);
    EXPECT_THAT(config->runtime.pipeline.cut, IsEmpty());
  }
}

TEST(PipelineKeys, AreChecked) {
  EXPECT_EQ(parse(R"("pipeline": {"stages": 0})").error().what,
            "runtime.pipeline.stages must be at least 1, not 0");
  EXPECT_EQ(parse(R"("pipeline": {"stages": 2, "cut": "fc1"})").error().what,
            R"(runtime.pipeline.cut must be a list of strings or null, not "fc1")");
  EXPECT_EQ(parse(R"("pipeline": 2)").error().what,
            "runtime.pipeline must be a block of stages, cut");
  EXPECT_EQ(parse(R"("pipeline": {"stages": 3, "cut": ["fc1"]})").error().what,
            "runtime.pipeline.cut names the last layer of each stage but the last: 2 for 3 stages, "
            "not 1; leave it out, and the trainer chooses by measuring");
  EXPECT_EQ(parse(R"("pipeline": {"cut": ["fc1"]})").error().what,
            "runtime.pipeline.cut needs runtime.pipeline.stages: 2");
}

TEST(PipelineKeys, RefuseWhatStagesCannotDo) {
  const auto refused = [](const std::string& runtime, const std::string& keys,
                          const std::string& what) {
    const auto config = parse(R"("pipeline": {"stages": 2})" + runtime, keys);
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().what, "runtime.pipeline with " + what);
    EXPECT_TRUE(parse(R"("pipeline": {"stages": 1})" + runtime, keys));
  };
  refused("", R"("batch_size": "auto",)",
          "batch_size auto: its trials run the whole network on one rank; set batch_size to a "
          "number");
  refused("", R"("optimizer": {"lr": "auto"},)",
          "optimizer.lr auto: its trials run the whole network on one rank; set optimizer.lr to a "
          "number");
  refused(R"(, "gradient_lag": 1)", "",
          "runtime.gradient_lag: a late gradient would meet the weights of another step's "
          "micro-batches; set it to 0");
  for (const char* other : {"ring", "mpi", "parameter-server"}) {
    refused(fmt::format(R"(, "allreduce": "{}")", other), "",
            "runtime.allreduce: the ranks of one stage sum through hierarchical, or nccl where "
            "auto takes it; set it to auto");
  }
  EXPECT_TRUE(parse(R"("pipeline": {"stages": 2}, "allreduce": "hierarchical")",
                    R"("sync_batch_norm": true,)"));
}

}  // namespace
}  // namespace dllaunch
