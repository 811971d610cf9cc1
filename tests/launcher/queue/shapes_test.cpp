#include "launcher/queue/shapes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "tests/launcher/sample_plans.hpp"

namespace dllaunch {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

Facts eight_nodes() {
  auto facts = small_cluster();
  auto& batch = facts.slurm->partitions[0];
  batch.node_types[0].hosts = {"n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"};
  return facts;
}

Job training(int nodes) {
  auto job = train_job();
  job.resources.nodes = nodes;
  job.resources.ranks_per_node = 1;
  job.resources.time = "2:00:00";
  job.train["batch_size"] = 32;
  return job;
}

Work unknown(const Job& job, const LaunchPlan& plan, const Facts& facts) {
  return {.own_ranks = plan.ranks(),
          .own_limit_s = 60.0 * minutes_of(job, *facts.slurm).value_or(0)};
}

std::vector<Shape> shapes(const Job& job, const Facts& facts, Work work) {
  const auto plan = planned(job, facts);
  auto found = shapes_of(job, plan, *facts.slurm, work, 1000);
  EXPECT_TRUE(found) << found.error().what;
  return found ? *found : std::vector<Shape>();
}

std::vector<int> whole_sizes(const std::vector<Shape>& all) {
  std::vector<int> nodes;
  for (const auto& one : all)
    if (one.slices == 1 && !one.least_minutes) nodes.push_back(one.nodes);
  std::ranges::sort(nodes);
  return nodes;
}

TEST(Shapes, ATrainingKeepsItsGlobalBatchOnOtherNumbersOfNodes) {
  const auto facts = eight_nodes();
  const auto job = training(4);
  const auto all = shapes(job, facts, unknown(job, planned(job, facts), facts));
  EXPECT_TRUE(all[0].as_written());
  EXPECT_EQ(all[0].limit_minutes, 120);
  EXPECT_THAT(whole_sizes(all), ElementsAre(2, 4, 8, 16))
      << "1 node would need four times the memory; whether there are 16 the plan says";
  for (const auto& one : all) {
    EXPECT_EQ(*one.batch_per_rank * one.ranks(), 128);
    EXPECT_NEAR(one.run_s * one.nodes, 7200 * 4, 1);
    if (one.slices == 1) {
      EXPECT_NEAR(one.limit_minutes * one.nodes, 120 * 4, one.nodes);
    }
  }
  const auto two = std::ranges::find_if(all, [](const Shape& one) { return one.nodes == 2; });
  EXPECT_THAT(two->sets, Contains("train.batch_size=64"));
  EXPECT_THAT(two->sets, Contains("resources.time=240"));
}

TEST(Shapes, ATrainingKeepsItsRanksIfItsLearningRateFollowsThem) {
  const auto facts = eight_nodes();
  auto job = training(4);
  job.train["lr_schedule"] = {{"scaling", "sqrt"}};
  for (const auto& one : shapes(job, facts, unknown(job, planned(job, facts), facts)))
    EXPECT_EQ(one.nodes, 4);
}

TEST(Shapes, SlicesAddUpToTheWork) {
  const auto facts = eight_nodes();
  const auto job = training(4);
  int slices = 0;
  for (const auto& one : shapes(job, facts, unknown(job, planned(job, facts), facts))) {
    if (one.slices == 1) continue;
    ++slices;
    EXPECT_GE(one.useful_s * one.slices, one.run_s - 1);
    EXPECT_GE(one.useful_s * 3, one.limit_minutes * 60 * 2 - 60) << "two thirds of each are of use";
    EXPECT_THAT(one.sets, Contains(fmt::format("resources.time={}", one.limit_minutes)));
  }
  EXPECT_GT(slices, 8);
}

TEST(Shapes, OnlyWhatResumesIsCut) {
  const auto facts = eight_nodes();
  auto job = training(4);
  job.recovery.requeue_on.timeout = false;
  for (const auto& one : shapes(job, facts, unknown(job, planned(job, facts), facts)))
    EXPECT_EQ(one.slices, 1);
  job.recovery.requeue_on.timeout = true;
  job.train["resume"] = "none";
  for (const auto& one : shapes(job, facts, unknown(job, planned(job, facts), facts))) {
    EXPECT_EQ(one.slices, 1) << "each slice would begin anew";
    EXPECT_GE(one.limit_minutes, 120);
  }
  auto command = run_job();
  command.resources.nodes = 2;
  command.resources.time = "2:00:00";
  const auto work = unknown(command, planned(command, facts), facts);
  auto all = shapes(command, facts, work);
  EXPECT_EQ(all.size(), 1u) << "a command that says nothing of itself has the shape it has";
  auto scales = command;
  scales.study.step = "step ([0-9]+)";
  for (const auto& one : shapes(scales, facts, work)) {
    EXPECT_EQ(one.slices, 1);
    EXPECT_GE(one.limit_minutes, 120) << "it would be lost at a limit that is too short";
  }
  command.recovery.written = true;
  all = shapes(command, facts, work);
  EXPECT_EQ(whole_sizes(all).size(), 1u);
  EXPECT_GT(all.size(), 1u) << "it saves, so it may be cut";
  command.study.value = "x ([0-9]+)";
  EXPECT_THAT(whole_sizes(shapes(command, facts, work)), ElementsAre(1, 2, 4, 8))
      << "a command that has a study runs on several sizes";
}

TEST(Shapes, PartitionsOfTheSameHardwareThatAdmitTheJob) {
  auto facts = eight_nodes();
  auto& partitions = facts.slurm->partitions;
  auto other = partitions[0];
  other.is_default = false;
  other.name = "short";
  other.max_minutes = 60;
  partitions.push_back(other);
  other.name = "closed";
  other.accounts.allowed = {"physics"};
  partitions.push_back(other);
  other.accounts.allowed.clear();
  other.name = "drained";
  other.state = "DRAIN";
  partitions.push_back(other);
  other.state = "UP";
  other.name = "big";
  other.node_types[0].cpus = 64;
  partitions.push_back(other);
  facts.slurm->user = SlurmUser{.name = "alice", .default_account = "bio"};
  const auto job = training(4);
  bool in_short = false;
  for (const auto& one : shapes(job, facts, unknown(job, planned(job, facts), facts))) {
    EXPECT_THAT(one.partition, testing::AnyOf("batch", "short"));
    if (one.partition != "short") continue;
    in_short = true;
    EXPECT_LE(one.limit_minutes, 60);
    EXPECT_THAT(one.sets, Contains("resources.partition=\"short\""));
    EXPECT_THAT(one.sets, Contains(fmt::format("resources.time={}", one.limit_minutes)))
        << "its default is another";
  }
  EXPECT_TRUE(in_short);
}

/// Only a plug-in of the site could choose one for the job as written.
TEST(Shapes, AllPartitionsWhereThereIsNoDefault) {
  auto facts = eight_nodes();
  facts.slurm->partitions[0].is_default = false;
  std::set<std::string> partitions;
  const auto job = training(4);
  const auto all = shapes(job, facts, unknown(job, planned(job, facts), facts));
  for (const auto& one : all) partitions.insert(one.partition);
  EXPECT_THAT(partitions, ElementsAre("", "batch"));
  EXPECT_TRUE(all[0].as_written());
}

TEST(Shapes, QosOfTheAccount) {
  auto facts = eight_nodes();
  facts.slurm->user = SlurmUser{.name = "alice",
                                .default_account = "bio",
                                .associations = {{{.account = "bio", .qos = {"normal", "long"}},
                                                  {.account = "other", .qos = {"secret"}}}}};
  const auto job = training(4);
  std::set<std::string> qos;
  for (const auto& one : shapes(job, facts, unknown(job, planned(job, facts), facts))) {
    qos.insert(one.qos);
    EXPECT_EQ(one.other_qos, !one.qos.empty());
  }
  EXPECT_THAT(qos, ElementsAre("", "long", "normal"));
}

TEST(Shapes, AMeasuredTimeAllowsAnEarlierEnd) {
  const auto facts = eight_nodes();
  auto job = training(4);
  job.resources.sbatch_extra = {"--mail-type=END"};
  auto work = unknown(job, planned(job, facts), facts);
  work.sizes = {{.ranks = 4, .times = {1000, 1100}}};
  const auto all = shapes(job, facts, work);
  const auto least =
      std::ranges::find_if(all, [](const Shape& one) { return one.least_minutes.has_value(); });
  ASSERT_NE(least, all.end());
  EXPECT_EQ(least->least_minutes, 24) << "1050 s, a quarter more, and 120 s to save";
  EXPECT_EQ(least->limit_minutes, 120);
  EXPECT_THAT(least->sets,
              Contains(R"(resources.sbatch_extra=["--mail-type=END","--time-min=24"])"));
  for (const auto& one : all)
    if (one.nodes == 8) {
      EXPECT_NEAR(one.run_s, 525, 1);
    }
}

TEST(Shapes, WithoutAnyTimeThereIsNothingToRank) {
  const auto facts = eight_nodes();
  auto job = training(4);
  job.resources.time.reset();
  const auto plan = planned(job, facts);
  const auto none = shapes_of(job, plan, *facts.slurm, {.own_ranks = 4}, 1000);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().hint, HasSubstr("resources.time"));
  const auto some = shapes_of(job, plan, *facts.slurm,
                              {.sizes = {{.ranks = 4, .times = {600}}}, .own_ranks = 4}, 1000);
  ASSERT_TRUE(some);
  EXPECT_EQ(some->front().limit_minutes, 13);
}

TEST(Shapes, NoLimitIsNoShortOne) {
  auto facts = eight_nodes();
  auto job = training(4);
  job.resources.time = "0";
  EXPECT_FALSE(minutes_of(job, *facts.slurm));
  // What does not resume gets no limit that may end it.
  job.train["resume"] = "none";
  const Work work{.sizes = {{.ranks = 4, .times = {600}}}, .own_ranks = 4};
  EXPECT_EQ(shapes(job, facts, work).size(), 1u);
  facts.slurm->partitions[0].max_minutes = 90;
  facts.slurm->partitions[0].default_minutes = 5;
  EXPECT_EQ(minutes_of(job, *facts.slurm), 90);
}

TEST(Shapes, InWords) {
  EXPECT_EQ(words_of({.nodes = 1, .ranks_per_node = 4, .limit_minutes = 30}),
            "1 node of 4 ranks, 30 min");
  EXPECT_EQ(words_of({.nodes = 2,
                      .ranks_per_node = 1,
                      .batch_per_rank = 8,
                      .partition = "gpu",
                      .qos = "long",
                      .limit_minutes = 11,
                      .slices = 3}),
            "2 nodes of 1 rank, batch 8, partition gpu, QOS long, 3 slices of 11 min");
}

}  // namespace
}  // namespace dllaunch
