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

}  // namespace
}  // namespace dllaunch
