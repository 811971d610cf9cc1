#include "launcher/launch/ask_stages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launcher/sample_plans.hpp"
#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

LaunchPlan two_ranks(int stages) {
  Job job = train_job();
  job.runtime["pipeline"] = {{"stages", stages}};
  job.resources.ranks_per_node = 2;
  return planned(job, one_machine("cores:2"));
}

FakeSystem answering(const CommandOutput& output) {
  FakeSystem system;
  system.respond = [output](const std::vector<std::string>&) { return Result(output); };
  return system;
}

TEST(AskStages, AsksTheTrainer) {
  const LaunchPlan plan = two_ranks(2);
  auto system = answering({0, R"({"stages": [{"first": "a", "last": "b", "share": 0.5},
                                             {"first": "c", "last": "d", "share": 0.5}]})",
                           ""});
  const auto pipeline = ask_stages(system, plan);
  ASSERT_TRUE(pipeline && *pipeline);
  EXPECT_EQ((*pipeline)->holds.size(), 2u);
  ASSERT_EQ(system.ran.size(), 1u);
  system.ran[0].resize(4);  // then the memory, if the machine says it
  EXPECT_THAT(system.ran[0],
              ElementsAre(plan.paths.dltrain, "--describe-stages", plan.train_json, "2"));
}

TEST(AskStages, AsksNothingWithoutAPipeline) {
  auto system = answering({1, "", ""});
  const auto pipeline = ask_stages(system, two_ranks(1));
  ASSERT_TRUE(pipeline);
  EXPECT_FALSE(*pipeline);
  EXPECT_THAT(system.ran, IsEmpty());
}

TEST(AskStages, TheTrainersRefusalIsTheUsers) {
  auto system = answering({2, "",
                           "dltrain: error: runtime.pipeline.cut: model cnn has no layer x\n"
                           "  try: cut after one of: pool1\n"});
  const auto refused = ask_stages(system, two_ranks(2));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::bad_request);
  EXPECT_EQ(refused.error().what, "runtime.pipeline.cut: model cnn has no layer x");
  EXPECT_EQ(refused.error().hint, "cut after one of: pool1");
  auto small = answering({3, "", "dltrain: error: the network can be cut into at most 1 stage\n"});
  EXPECT_EQ(ask_stages(small, two_ranks(2)).error().kind, ErrorKind::unsatisfiable);
}

TEST(AskStages, ATrainerThatDoesNotAnswerIsNoError) {
  FakeSystem none;
  const auto pipeline = ask_stages(none, two_ranks(2));
  ASSERT_TRUE(pipeline && *pipeline);
  EXPECT_NE((*pipeline)->unknown, "");
  auto broken = answering({127, "", "dltrain: error while loading shared libraries\n"});
  const auto unloadable = ask_stages(broken, two_ranks(2));
  ASSERT_TRUE(unloadable && *unloadable);
  EXPECT_THAT((*unloadable)->unknown, HasSubstr("not understood"));
}

TEST(AskStages, WarningsJoinThePlans) {
  FakeSystem none;
  LaunchPlan plan = two_ranks(2);
  const auto before = plan.warnings.size();
  const auto warned = with_stage_warnings(none, plan);
  ASSERT_TRUE(warned);
  ASSERT_EQ(warned->warnings.size(), before + 1);
  EXPECT_THAT(warned->warnings.back(), HasSubstr("2 stages and 1 micro-batch a step"));
}

TEST(AskStages, AsksForSplitLayersToo) {
  Job job = train_job();
  job.runtime["split_dense"] = {"fc1"};
  job.resources.ranks_per_node = 2;
  const LaunchPlan plan = planned(job, one_machine("cores:2"));
  auto system = answering({0, R"({"layers": [{"name": "fc1", "columns": 120, "of_rank": 60}],
      "held_bytes": 10, "whole_bytes": 20, "activation_bytes": 5})",
                           ""});
  const auto split = ask_split(system, plan);
  ASSERT_TRUE(split && *split);
  EXPECT_EQ((*split)->held_bytes, 10);
  EXPECT_EQ(system.ran[0][1], "--describe-stages");
  auto refusing = answering({2, "", "dltrain: error: model lenet has no dense layer fc1\n"});
  EXPECT_EQ(with_stage_warnings(refusing, plan).error().what, "model lenet has no dense layer fc1");
  FakeSystem none;
  const auto unknown = ask_split(none, plan);
  ASSERT_TRUE(unknown && *unknown);
  EXPECT_NE((*unknown)->unknown, "");
}

}  // namespace
}  // namespace dllaunch
