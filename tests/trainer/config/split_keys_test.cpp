#include "trainer/config/split_keys.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

Result<TrainConfig> parsed(const std::string& runtime, const std::string& keys = "") {
  return parse_config(fmt::format(R"({{"model": "lenet", {} "runtime": {{{}}}}})", keys, runtime));
}

TEST(SplitKeys, AreRead) {
  const auto config = parsed(R"("split_dense": ["fc1", "fc2"])");
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_THAT(config->runtime.split_dense, ElementsAre("fc1", "fc2"));
  EXPECT_THAT(parsed("")->runtime.split_dense, IsEmpty());
  EXPECT_EQ(parsed(R"("split_dense": "fc1")").error().what,
            R"(runtime.split_dense must be a list of strings, not "fc1")");
}

TEST(SplitKeys, RefuseWhatSplitLayersCannotDo) {
  const auto refused = [](const std::string& runtime, const std::string& keys,
                          const std::string& what) {
    const auto config = parsed(R"("split_dense": ["fc1"])" + runtime, keys);
    ASSERT_FALSE(config) << what;
    EXPECT_THAT(config.error().what, StartsWith("runtime.split_dense with " + what));
    EXPECT_TRUE(parsed(R"("split_dense": [])" + runtime, keys));
  };
  refused(R"(, "pipeline": {"stages": 2})", "", "runtime.pipeline: ranks of other stages");
  refused("", R"("optimizer": {"shard": true},)", "optimizer.shard: ");
  refused("", R"("device": "cuda",)", "device: GPUs do not compute split layers yet");
  refused("", R"("precision": "fp16",)", "precision fp16: ");
  refused("", R"("batch_size": "auto",)", "batch_size auto: ");
  refused("", R"("optimizer": {"lr": "auto"},)", "optimizer.lr auto: ");
  refused(R"(, "gradient_lag": 1)", "", "runtime.gradient_lag: ");
  EXPECT_TRUE(parsed(R"("split_dense": ["fc1"], "compression": "bf16", "allreduce": "ring")",
                     R"("sync_batch_norm": true, "precision": "bf16",)"));
}

}  // namespace
}  // namespace dllaunch
