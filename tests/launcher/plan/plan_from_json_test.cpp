#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "launcher/plan/plan.hpp"
#include "support/json.hpp"
#include "tests/launcher/sample_plans.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

Json parsed(const char* text) {
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

LaunchPlan everything() {
  auto job = run_job();
  job.resources.nodes = 2;
  job.resources.sbatch_extra = {"--mail-type=END"};
  job.array = "0-9%2";
  job.after = {"17"};
  job.stage = {"/data/set.tar", "programs"};
  job.framework = "pytorch";
  job.environment.container = Container{.image = "/images/a.sif", .mounts = {"/data"}};
  job.environment.left_alone = {"NCCL_DEBUG"};
  job.recovery = {.signal = "USR1",
                  .grace_seconds = 30,
                  .max_restarts = 4,
                  .avoid = {"n7", "n8"},
                  .written = true};
  auto plan = planned(job, lumi_like());
  plan.node_book = "/group/nodes.jsonl";
  return plan;
}

TEST(PlanFromJson, WhatWasWrittenIsRead) {
  for (const auto& plan : {everything(), planned(train_job(), small_cluster()),
                           planned(run_job(), one_machine("cores:4 gpus:2"))}) {
    const auto written = to_json(plan);
    const auto read = bound_plan_from_json(written);
    ASSERT_TRUE(read) << read.error().what;
    EXPECT_EQ(to_json(*read).dump(2), written.dump(2));
    EXPECT_EQ(read->signal, plan.signal);
    EXPECT_EQ(read->grace_seconds, plan.grace_seconds);
    EXPECT_EQ(read->start.program, plan.start.program);
    ASSERT_EQ(read->placement.ranks.size(), plan.placement.ranks.size());
    for (std::size_t i = 0; i < plan.placement.ranks.size(); ++i) {
      const auto& rank = read->placement.ranks[i];
      EXPECT_EQ(rank.cpus, plan.placement.ranks[i].cpus);
      EXPECT_EQ(rank.gpus.size(), plan.placement.ranks[i].gpus.size());
    }
  }
}

// Written by 9192368, when a plan's start was one list of words.
TEST(PlanFromJson, APlanOfAnEarlierVersionIsRead) {
  std::ifstream file(DLLAUNCH_SOURCE_DIR "/tests/fixtures/runs/9192368/plan.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto document = Json::parse(text);
  const auto plan = bound_plan_from_json(document);
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->name, "before");
  EXPECT_EQ(plan->launcher, Launcher::slurm);
  EXPECT_EQ(plan->ranks(), 2);
  EXPECT_FALSE(plan->exact);
  EXPECT_EQ(plan->start.kind(), Starter::srun);
  EXPECT_EQ(plan->start.options.front(), "--mpi=pmix");
  EXPECT_EQ(plan->start.shim.at(1), "exec");
  EXPECT_THAT(plan->start.program, testing::Contains("--config"));
  EXPECT_EQ(Json(plan->start.argv()), document["srun"]);
  EXPECT_EQ(plan->framework, "") << "the built-in trainer";
  EXPECT_EQ(plan->placement.ranks.size(), 2U);
}

TEST(PlanFromJson, NodeFoldersAndHostSuffixOfASite) {
  const auto plan = plan_from_json(
      parsed(R"({"node_folders": {"A": "/tmp/{user}", "B": 1}, "host_suffix": "i"})"));
  EXPECT_THAT(plan.node_folders, ElementsAre(Pair("A", "/tmp/{user}")));
  EXPECT_EQ(plan.host_suffix, "i");
}

TEST(PlanFromJson, WhatIsNotAsWrittenHasItsDefault) {
  for (const char* text :
       {"", "[]", "{", "{}", R"({"node_folders": 3, "host_suffix": [], "nodes": -1, "srun": [1],
          "sbatch": [], "recovery": 3, "framework": 3, "stage": [], "container": "a"})"}) {
    const auto plan = plan_from_json(parsed(text));
    EXPECT_EQ(plan.ranks(), 1) << text;
    EXPECT_EQ(plan.start.kind(), Starter::none) << text;
    EXPECT_EQ(plan.recovery.max_restarts, 0) << text;
    EXPECT_EQ(plan.signal, "USR2") << text;
    EXPECT_THAT(plan.node_folders, IsEmpty()) << text;
    EXPECT_FALSE(plan.container) << text;
    EXPECT_FALSE(bound_plan_from_json(parsed(text))) << text;
  }
}

TEST(PlanFromJson, WithoutAPlacementThePolicyOfTheBindingCounts) {
  const auto plan = bound_plan_from_json(parsed(R"({"binding": {"policy": "spread"}})"));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->request.policy, BindPolicy::spread);
}

}  // namespace
}  // namespace dllaunch
