#include "launcher/job/split_checks.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "launcher/job/job_file.hpp"

namespace dllaunch {
namespace {

/// What is wrong, one line each.
std::string problems_with(const std::string& keys, const std::vector<std::string>& sets = {}) {
  std::string text;
  const auto parsed = parse_job("name: a\n" + keys, "job.yaml", sets);
  for (const auto& problem : parsed.problems) {
    if (!text.empty()) text += '\n';
    text += problem.message;
  }
  return text;
}

const std::string split_job = "train: {model: lenet}\nruntime: {split_dense: [fc1]}";
const std::string whole_job = "train: {model: lenet}\nruntime: {split_dense: []}";

TEST(SplitChecks, TheLayersReachTheJob) {
  const auto parsed = parse_job("name: a\n" + split_job, "job.yaml", {});
  ASSERT_TRUE(parsed.job) << render(parsed.problems, false);
  EXPECT_EQ(parsed.job->runtime["split_dense"], Json::array({"fc1"}));
  const auto plain = parse_job("name: a\ntrain: {model: lenet}", "job.yaml", {});
  ASSERT_TRUE(plain.job);
  EXPECT_EQ(plain.job->runtime["split_dense"], Json::array());
}

TEST(SplitChecks, SayWhyAndWhatToDo) {
  const auto refused = [](const std::string& set, const std::string& what) {
    EXPECT_EQ(problems_with(split_job, {set}), what) << set;
    EXPECT_EQ(problems_with(whole_job, {set}), "") << set;
  };
  refused("runtime.pipeline.stages=2",
          "runtime.split_dense does not go with runtime.pipeline: ranks of other stages do not "
          "have the layer; use one of the two");
  refused("train.optimizer.shard=true",
          "train.optimizer.shard: true does not go with runtime.split_dense: a split layer's "
          "optimiser state is divided among the ranks already; leave it out");
  refused("train.batch_size=auto",
          "train.batch_size: auto does not go with runtime.split_dense: its trials run the whole "
          "network on one rank; write a number");
  refused("runtime.gradient_lag=1",
          "runtime.gradient_lag: 1 does not go with runtime.split_dense: only gradients that are "
          "summed over ranks can be late; leave it out");
  EXPECT_EQ(problems_with(split_job, {"train.precision=bf16", "resources.nodes=2-4",
                                      "train.sync_batch_norm=true", "runtime.compression=bf16"}),
            "");
}

TEST(SplitChecks, ACommandHasNoSplitLayers) {
  EXPECT_EQ(problems_with("run: x\nruntime: {split_dense: [fc1]}"),
            "runtime.split_dense is for 'train:'; a command splits its own layers");
}

}  // namespace
}  // namespace dllaunch
