#include "launcher/queue/work.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launcher/sample_plans.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Work, ScalesWithRanksWhereNothingIsKnown) {
  const Work work{.own_ranks = 4, .own_limit_s = 3600};
  EXPECT_EQ(seconds_on(work, 4), 3600);
  EXPECT_EQ(seconds_on(work, 8), 1800);
  EXPECT_EQ(seconds_on(work, 1), 4 * 3600);
  EXPECT_THAT(source_of(work), HasSubstr("no run of this job is known here"));
}

TEST(Work, IsAnotherWhereTheLearningRateFollowsTheRanks) {
  Job job;
  EXPECT_TRUE(same_on_other_ranks(job)) << "a command";
  job.train = {{"batch_size", 8}};
  EXPECT_TRUE(same_on_other_ranks(job));
  job.train["lr_schedule"] = {{"decay", "cosine"}};
  EXPECT_TRUE(same_on_other_ranks(job));
  job.train["lr_schedule"]["scaling"] = "linear";
  EXPECT_FALSE(same_on_other_ranks(job));
}

TEST(Work, TellsNodesOfAnotherKindApart) {
  auto facts = small_cluster();
  auto& slurm = *facts.slurm;
  EXPECT_THAT(hosts_of_another_kind(train_job(), slurm, false), IsEmpty());
  auto other = slurm.partitions[0];
  other.name = "older";
  other.is_default = false;
  other.node_types[0].hosts = {"o1"};
  other.node_types[0].cpus /= 2;
  slurm.partitions.push_back(other);
  EXPECT_THAT(hosts_of_another_kind(train_job(), slurm, false), ElementsAre("o1"));
}

TEST(Work, IsWhatWasMeasured) {
  Work work{.sizes = {{.ranks = 2, .times = {100, 140, 110}}}, .runs = 3, .own_ranks = 4};
  EXPECT_EQ(seconds_on(work, 2), 110);
  EXPECT_EQ(seconds_on(work, 4), 55);
  EXPECT_EQ(source_of(work), "3 runs of this job on 2 ranks; it is taken to scale with its ranks");
  work.sizes.push_back({.ranks = 8, .times = {50}});
  work.runs = 4;
  work.of_studies = 1;
  EXPECT_EQ(seconds_on(work, 8), 50);
  EXPECT_LT(seconds_on(work, 4), 110);
  EXPECT_GT(seconds_on(work, 4), 50) << "between the two";
  EXPECT_GT(seconds_on(work, 16), 20) << "it does not scale without end";
  EXPECT_EQ(source_of(work), "4 runs of this job on 2 and 8 ranks, 1 of a study");
}

}  // namespace
}  // namespace dllaunch
