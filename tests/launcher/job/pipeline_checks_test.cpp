#include "launcher/job/pipeline_checks.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "launcher/job/job_file.hpp"

namespace dllaunch {
namespace {

ParsedJob parse(const std::string& keys, const std::vector<std::string>& sets = {}) {
  return parse_job("name: a\ntrain: {model: cnn}\n" + keys, "job.yaml", sets);
}

/// What is wrong, one line each.
std::string problems_of(const std::string& keys, const std::vector<std::string>& sets = {}) {
  std::string text;
  for (const auto& problem : parse(keys, sets).problems) {
    if (!text.empty()) text += '\n';
    text += problem.message;
  }
  return text;
}

TEST(PipelineChecks, StagesReachTheJob) {
  const auto parsed = parse("runtime: {pipeline: {stages: 2, cut: [pool1]}}");
  ASSERT_TRUE(parsed.job) << render(parsed.problems, false);
  EXPECT_EQ(parsed.job->runtime["pipeline"], Json::parse(R"({"stages": 2, "cut": ["pool1"]})"));
  const auto plain = parse("");
  ASSERT_TRUE(plain.job);
  EXPECT_EQ(plain.job->runtime["pipeline"], Json::parse(R"({"stages": 1, "cut": null})"));
}

TEST(PipelineChecks, ACutHasOneNameLessThanStages) {
  EXPECT_EQ(problems_of("runtime: {pipeline: {cut: [pool1]}}"),
            "runtime.pipeline.cut needs runtime.pipeline.stages: 2");
  EXPECT_EQ(problems_of("runtime: {pipeline: {stages: 2, cut: [a, b]}}"),
            "runtime.pipeline.cut names the last layer of each stage but the last: 1 for 2 stages, "
            "not 2; leave it out, and the trainer chooses by measuring");
  EXPECT_EQ(problems_of("runtime: {pipeline: {stages: 2, cut: []}}"), "");
}

TEST(PipelineChecks, SayWhyAndWhatToDo) {
  const auto refused = [](const std::string& set, const std::string& what) {
    EXPECT_EQ(problems_of("runtime: {pipeline: {stages: 2}}", {set}), what) << set;
    EXPECT_EQ(problems_of("", {set}), "") << set;
  };
  refused("train.batch_size=auto",
          "train.batch_size: auto does not go with runtime.pipeline: its trials run the whole "
          "network on one rank; write a number");
  refused("train.optimizer.lr=auto",
          "train.optimizer.lr: auto does not go with runtime.pipeline: its trials run the whole "
          "network on one rank; write a number");
  refused("runtime.gradient_lag=1",
          "runtime.gradient_lag: 1 does not go with runtime.pipeline: a late gradient would meet "
          "the weights of another step's micro-batches; leave it out");
  refused("runtime.allreduce=ring",
          "runtime.allreduce: ring does not go with runtime.pipeline: the ranks of one stage sum "
          "through hierarchical, or nccl where auto takes it; leave it out");
  refused("resources.nodes=2-4",
          "fewer nodes (resources.nodes: 2-..., recovery.min_nodes) do not go with "
          "runtime.pipeline: without the ranks of one stage there is no network; ask for "
          "recovery.spare_nodes instead");
  EXPECT_EQ(
      problems_of("runtime: {pipeline: {stages: 2}, allreduce: hierarchical}",
                  {"train.sync_batch_norm=true", "recovery.spare_nodes=1", "train.precision=fp16"}),
      "");
}

TEST(PipelineChecks, ACommandHasNoStages) {
  const auto parsed =
      parse_job("name: a\nrun: x\nruntime: {pipeline: {stages: 2}}", "job.yaml", {});
  ASSERT_EQ(parsed.problems.size(), 1u);
  EXPECT_EQ(parsed.problems[0].message,
            "runtime.pipeline is for 'train:'; a command cuts its own network");
}

/// Of a job with other blocks.
std::string problems_of_whole(const std::string& text, const std::vector<std::string>& sets = {}) {
  std::string lines;
  const auto parsed = parse_job("name: a\n" + text, "job.yaml", sets);
  for (const auto& problem : parsed.problems) {
    if (!lines.empty()) lines += '\n';
    lines += problem.message;
  }
  return lines;
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
    EXPECT_EQ(problems_of_whole(split_job, {set}), what) << set;
    EXPECT_EQ(problems_of_whole(whole_job, {set}), "") << set;
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
  EXPECT_EQ(
      problems_of_whole(split_job, {"train.precision=bf16", "resources.nodes=2-4",
                                    "train.sync_batch_norm=true", "runtime.compression=bf16"}),
      "");
}

TEST(SplitChecks, ACommandHasNoSplitLayers) {
  EXPECT_EQ(problems_of_whole("run: x\nruntime: {split_dense: [fc1]}"),
            "runtime.split_dense is for 'train:'; a command splits its own layers");
}

}  // namespace
}  // namespace dllaunch
