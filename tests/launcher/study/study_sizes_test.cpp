#include "launcher/study/study_sizes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launcher/sample_plans.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string problem(const SizesWanted& wanted, const Job& job, const LaunchPlan& plan) {
  const auto sizes = sizes_of(wanted, job, plan);
  return sizes ? "none" : sizes.error().what;
}

TEST(StudySizes, LargestFirstAndWholeNodesBeyondOne) {
  const auto job = run_job();
  const auto plan = planned(job, lumi_like());
  ASSERT_EQ(plan.ranks_per_node, 8);
  const auto sizes = sizes_of({.ranks = {1, 2, 16}}, job, plan);
  ASSERT_TRUE(sizes) << sizes.error().what;
  EXPECT_EQ(sizes->at(0).ranks, 16);
  EXPECT_THAT(sizes->at(0).sets,
              ElementsAre("resources.nodes=2", "resources.ranks_per_node=8",
                          "resources.gpus_per_node=8", "resources.cpus_per_rank=7"));
  EXPECT_THAT(sizes->at(2).sets,
              ElementsAre("resources.nodes=1", "resources.ranks_per_node=1",
                          "resources.gpus_per_node=1", "resources.cpus_per_rank=7"))
      << "what a rank has in the job as written";
  const auto nodes = sizes_of({.nodes = {1, 4}}, job, plan);
  ASSERT_TRUE(nodes);
  EXPECT_EQ(nodes->at(0).ranks, 32);
  EXPECT_EQ(nodes->at(1).nodes, 1);
}

TEST(StudySizes, StrongScalingKeepsTheGlobalBatch) {
  auto job = train_job();
  job.train["batch_size"] = 32;
  const auto plan = planned(job, one_machine("cores:4"));
  const int global = 32 * plan.ranks();
  const auto sizes = sizes_of({.ranks = {1}}, job, plan);
  ASSERT_TRUE(sizes) << sizes.error().what;
  EXPECT_EQ(sizes->at(0).sets.back(), "train.batch_size=" + std::to_string(global));
  const auto weak = sizes_of({.ranks = {1}, .scaling = Scaling::weak}, job, plan);
  ASSERT_TRUE(weak);
  EXPECT_THAT(weak->at(0).sets, testing::Not(testing::Contains(HasSubstr("batch"))));
  job.train["batch_size"] = "auto";
  EXPECT_THAT(problem({.ranks = {1}}, job, plan), HasSubstr("is not a number"));
}

TEST(StudySizes, RanksThatShareAGpuKeepTheirShare) {
  auto job = run_job();
  job.resources.gpus_per_node = 2;
  job.resources.ranks_per_node = 4;
  const auto plan = planned(job, lumi_like());
  const auto sizes = sizes_of({.ranks = {2, 4}}, job, plan);
  ASSERT_TRUE(sizes) << sizes.error().what;
  EXPECT_THAT(sizes->at(0).sets, testing::Contains("resources.gpus_per_node=2"));
  EXPECT_THAT(sizes->at(1).sets, testing::Contains("resources.gpus_per_node=1"));
  EXPECT_THAT(problem({.ranks = {1}}, job, plan), HasSubstr("4 ranks share 2 GPUs, which 1 rank"));
}

TEST(StudySizes, MemoryOfANodeIsDividedWithItsRanks) {
  auto job = run_job();
  job.resources.memory = JobMemory{.per = MemoryPer::node, .amount = "100G"};
  const auto plan = planned(job, lumi_like());
  const auto sizes = sizes_of({.ranks = {3, 8, 16}}, job, plan);
  ASSERT_TRUE(sizes) << sizes.error().what;
  const auto memory = testing::Contains(HasSubstr("memory"));
  EXPECT_THAT(sizes->at(0).sets, testing::Not(memory)) << "nodes are full, as in the job";
  EXPECT_THAT(sizes->at(1).sets, testing::Not(memory));
  EXPECT_THAT(sizes->at(2).sets, testing::Contains("resources.memory.per_node=38400M"));
  job.resources.memory->amount = "1M";
  EXPECT_THAT(sizes_of({.ranks = {1}}, job, plan)->at(0).sets,
              testing::Contains("resources.memory.per_node=1M"))
      << "rounded up";
  for (const auto per : {MemoryPer::rank, MemoryPer::gpu}) {
    job.resources.memory->per = per;
    EXPECT_THAT(sizes_of({.ranks = {1}}, job, plan)->at(0).sets, testing::Not(memory));
  }
}

TEST(StudySizes, RanksThatShareACoreAskForNone) {
  auto job = run_job();
  job.resources.ranks_per_node = 2;
  const auto plan = planned(job, one_machine("cores:1"));
  const auto sizes = sizes_of({.ranks = {1, 2}}, job, plan);
  ASSERT_TRUE(sizes) << sizes.error().what;
  EXPECT_EQ(sizes->at(0).sets.size(), 2u);
}

TEST(StudySizes, SayWhatIsWrong) {
  const auto job = run_job();
  const auto plan = planned(job, lumi_like());
  EXPECT_THAT(problem({}, job, plan), HasSubstr("needs sizes"));
  EXPECT_THAT(problem({.ranks = {0}}, job, plan), HasSubstr("at least 1"));
  EXPECT_THAT(problem({.nodes = {2, -3}}, job, plan), HasSubstr("--nodes -3"));
  EXPECT_THAT(problem({.ranks = {2, 4, 2}}, job, plan), HasSubstr("names 2 twice"));
  EXPECT_THAT(problem({.ranks = {12}}, job, plan), HasSubstr("do not fill whole nodes"));
  EXPECT_THAT(problem({.nodes = {1 << 20}}, job, plan), HasSubstr("at most 1048576 ranks"));
  auto trains = train_job();
  trains.train["batch_size"] = 1;
  const auto four = planned(trains, one_machine("cores:4"));
  EXPECT_THAT(problem({.ranks = {3 * four.ranks()}}, trains, four),
              testing::AnyOf(HasSubstr("cannot be divided by"), HasSubstr("whole nodes")));
}

TEST(StudySizes, TheBatchIsThatOfTheJobAsWrittenOnMoreRanksThanItHas) {
  auto job = train_job();
  job.train["batch_size"] = 32;
  job.resources.ranks_per_node = 2;
  const auto plan = planned(job, one_machine("cores:2"), /*local=*/true);
  const auto sizes = sizes_of({.ranks = {1, 2}, .ranks_as_written = 1}, job, plan);
  ASSERT_TRUE(sizes) << sizes.error().what;
  EXPECT_THAT(sizes->at(0).sets, testing::Contains("train.batch_size=16"));
  EXPECT_THAT(sizes->at(1).sets, testing::Contains("train.batch_size=32"));
}

}  // namespace
}  // namespace dllaunch
