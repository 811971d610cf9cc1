#include "launcher/plan/pipeline/rank_stages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/launcher/sample_plans.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Job pipeline_job(int stages, int ranks_per_node) {
  Job job = train_job();
  job.runtime["pipeline"] = {{"stages", stages}, {"cut", nullptr}};
  job.train["accumulate"] = 8;
  job.resources.ranks_per_node = ranks_per_node;
  return job;
}

PipelinePlan pipeline_for(const Job& job, const Facts& facts) {
  const auto pipeline = pipeline_of(planned(job, facts));
  EXPECT_TRUE(pipeline && *pipeline);
  return **pipeline;
}

constexpr std::string_view two_stages = R"({"stages": [
    {"first": "conv1", "last": "layer2.3.relu", "parameters": 1500000, "held_bytes": 1073741824,
     "activation_bytes": 536870912, "in_flight": 2, "share": 0.52},
    {"first": "layer3.0.conv1", "last": "fc", "parameters": 22000000, "held_bytes": 2147483648,
     "activation_bytes": 268435456, "in_flight": 1, "share": 0.48}],
  "micro_batches": 8, "idle": 0.14})";

TEST(PipelineOf, CountsRanksAndMicroBatches) {
  const auto pipeline = pipeline_for(pipeline_job(2, 4), one_machine("cores:4"));
  EXPECT_EQ(pipeline.stages, 2);
  EXPECT_EQ(pipeline.replicas(), 2);
  EXPECT_EQ(pipeline.micro_batches, 8);
  EXPECT_FALSE(pipeline.given);
  EXPECT_NEAR(pipeline.idle, 1.0 / 9, 1e-12);
  Job job = pipeline_job(2, 4);
  job.train["global_batch"] = 100;
  job.train["batch_size"] = 8;
  job.runtime["pipeline"]["cut"] = {"pool1"};
  const auto global = pipeline_for(job, one_machine("cores:4"));
  EXPECT_EQ(global.micro_batches, 7);
  EXPECT_TRUE(global.given);
}

TEST(PipelineOf, JobsWithoutOneHaveNone) {
  for (const Job& job : {train_job(), run_job(), pipeline_job(1, 3)}) {
    const auto pipeline = pipeline_of(planned(job, one_machine("cores:4")));
    ASSERT_TRUE(pipeline);
    EXPECT_FALSE(*pipeline);
  }
}

TEST(PipelineOf, RanksAreAMultipleOfStages) {
  EXPECT_EQ(problem_of(pipeline_job(3, 4), one_machine("cores:4")),
            "4 ranks cannot be divided into 3 stages of a pipeline (use so many nodes and ranks "
            "per node that there are 3 or 6, or another runtime.pipeline.stages)");
  EXPECT_EQ(problem_of(pipeline_job(4, 1), one_machine("cores:4")),
            "1 rank cannot be divided into 4 stages of a pipeline (use so many nodes and ranks per "
            "node that there are 4, or another runtime.pipeline.stages)");
  EXPECT_EQ(problem_of(pipeline_job(4, 4), one_machine("cores:4")), "none");
}

TEST(PipelineOf, RanksShareTheMemoryThatTheJobAsksFor) {
  Job job = pipeline_job(2, 2);
  job.resources.memory = JobMemory{.per = MemoryPer::rank, .amount = "3G"};
  EXPECT_EQ(pipeline_for(job, small_cluster()).memory_bytes, std::int64_t{3} << 30);
  job.resources.memory = JobMemory{.per = MemoryPer::node, .amount = "3G"};
  EXPECT_EQ(pipeline_for(job, small_cluster()).memory_bytes, std::int64_t{3} << 29);
}

/// One for each GPU, whose memory is not among the facts.
TEST(PipelineOf, RanksOnGpusHaveUnknownMemory) {
  Job job = pipeline_job(2, 4);
  job.resources.ranks_per_node.reset();
  job.resources.device = "cuda";
  Paths paths = sample_paths();
  paths.trainer_gpus = {"cuda"};
  const auto made = plan(job, one_machine("numa:2 cores:4 gpus:4"), paths, false);
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->placement.ranks[3].gpus.size(), 1u);
  const auto pipeline = pipeline_of(*made);
  ASSERT_TRUE(pipeline && *pipeline);
  EXPECT_EQ((*pipeline)->replicas(), 2);
  EXPECT_FALSE((*pipeline)->memory_bytes);
}

TEST(RenderStages, SaysWhatEachRankHolds) {
  PipelinePlan pipeline{.stages = 2, .ranks = 4, .micro_batches = 8};
  pipeline.memory_bytes = std::int64_t{4} << 30;
  read_stages(two_stages, pipeline);
  EXPECT_EQ(render_stages(pipeline), R"(
  pipeline: 2 stages, 2 replicas, 8 micro-batches a step; estimated, )"
                                     R"(the trainer cuts by measuring; ranks wait 14 % of a step

  stage  ranks  layers                  parameters  weights   activations    together  work
  1      0-1    conv1 to layer2.3.relu  1.50 M      1.00 GiB  2 x 512.0 MiB  2.00 GiB  52 %
  2      2-3    layer3.0.conv1 to fc    22.00 M     2.00 GiB  1 x 256.0 MiB  2.25 GiB  48 %
  weights: with gradients and optimiser state; activations: micro-batches in flight
)");
  EXPECT_THAT(warnings_of(pipeline), IsEmpty());
  const Json document = to_json(pipeline);
  EXPECT_EQ(document["holds"].size(), 2u);
  EXPECT_EQ(document["holds"][1]["last"], "fc");
  EXPECT_EQ(document["replicas"], 2);
}

TEST(RenderStages, WarnsOfWhatDoesNotFit) {
  PipelinePlan pipeline{.stages = 2, .ranks = 2, .micro_batches = 8};
  pipeline.memory_bytes = std::int64_t{2} << 30;
  read_stages(two_stages, pipeline);
  EXPECT_THAT(warnings_of(pipeline),
              ElementsAre("stage 2 needs about 2.25 GiB on each of its ranks, which have 2.00 GiB: "
                          "use more runtime.pipeline.stages, a smaller train.batch_size, or fewer "
                          "ranks per node"));
  pipeline.too_large = "no cut fits";
  EXPECT_THAT(warnings_of(pipeline), ElementsAre("no cut fits"));
  EXPECT_THAT(render_stages(pipeline), HasSubstr("\nwarning: no cut fits\n"));
}

TEST(RenderStages, WarnsOfFewMicroBatches) {
  const PipelinePlan pipeline{.stages = 4, .ranks = 4, .micro_batches = 1};
  EXPECT_THAT(warnings_of(pipeline),
              ElementsAre("4 stages and 1 micro-batch a step: ranks wait 75 % of it for other "
                          "stages; train.accumulate: 16 with a smaller train.batch_size makes that "
                          "16 %"));
}

TEST(RenderStages, SaysWhatIsNotKnown) {
  PipelinePlan pipeline{.stages = 2, .ranks = 2, .micro_batches = 8};
  read_stages(R"({"unknown": "no files in /data"})", pipeline);
  EXPECT_EQ(render_stages(pipeline), R"(
  pipeline: 2 stages, 1 replica, 8 micro-batches a step; )"
                                     R"(what a rank holds is not known: no files in /data
    stage 1: rank 0
    stage 2: rank 1
)");
}

/// Texts that are cut off, or have other bytes in them, are understood or not, and nothing else.
TEST(ReadStages, AnyTextIsRead) {
  std::mt19937 random(3);
  for (std::size_t length = 0; length <= two_stages.size(); ++length) {
    for (int round = 0; round < 3; ++round) {
      std::string text(two_stages.substr(0, round == 0 ? length : two_stages.size()));
      if (round > 0 && length < text.size()) {
        constexpr std::string_view bytes = "9-e{}[]\",:x\xff";
        text[length] = bytes[random() % bytes.size()];
      }
      PipelinePlan pipeline{.stages = 2, .ranks = 2};
      read_stages(text, pipeline);
      EXPECT_EQ(pipeline.holds.empty(), !pipeline.unknown.empty()) << text;
      EXPECT_FALSE(render_stages(pipeline).empty());
    }
  }
  for (const char* text : {R"({"stages": [{}]})", R"({"stages": 3})", "[]", "3", R"({"stages": [
       {"held_bytes": 1e300}, {}]})",
                           R"({"stages": [{"share": -1}, {}]})"}) {
    PipelinePlan pipeline{.stages = 2, .ranks = 2};
    read_stages(text, pipeline);
    EXPECT_THAT(pipeline.unknown, HasSubstr("not understood")) << text;
  }
}

}  // namespace
}  // namespace dllaunch
