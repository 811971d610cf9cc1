#include "launcher/supervise/start_nodes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

NodeFitness two_of_three() {
  return {.fit = {"n1", "n3"}, .unfit = {"n2"}, .why = "n2: Slurm reports it lost", .seconds = 1};
}

TEST(StartNodes, WhoIsNotFitIsLeftOutWhereThereAreOthers) {
  EXPECT_EQ(pick_nodes(two_of_three(), {2, 2}, false).list, "n[1,3]");
  EXPECT_EQ(pick_nodes(two_of_three(), {1, 1}, false).list, "n1");
  EXPECT_FALSE(pick_nodes(two_of_three(), {2, 2}, false).too_few);
}

TEST(StartNodes, TooFewIsLeftToThePolicy) {
  for (const std::size_t needed : {0U, 3U}) {
    const auto nodes = pick_nodes(two_of_three(), {needed, needed}, true);
    EXPECT_TRUE(nodes.too_few) << needed;
    EXPECT_EQ(nodes.list, "") << needed;
  }
}

TEST(StartNodes, WithSpareOnesTheRanksAlwaysGetTheFirst) {
  const NodeFitness well{.fit = {"n1", "n2", "n3"}};
  EXPECT_EQ(pick_nodes(well, {2, 2}, true).list, "n[1-2]");
  EXPECT_EQ(pick_nodes(well, {2, 2}, false).list, "") << "Slurm's own choice";
  EXPECT_FALSE(pick_nodes(well, {2, 2}, false).too_few);
  EXPECT_FALSE(pick_nodes(NodeFitness{}, {2, 2}, true).too_few) << "no node was asked";
}

TEST(StartNodes, UnwantedNodesAreLeftToTheSparesWhereOthersAreFit) {
  const NodeFitness well{.fit = {"n1", "n2", "n3"}};
  const auto nodes = pick_nodes(well, {2, 2}, true, {.unwanted = {"n2", "n1"}});
  EXPECT_EQ(nodes.list, "n[1,3]");
  EXPECT_THAT(nodes.spared, ElementsAre("n2")) << "the worst, as there is one spare";
  EXPECT_EQ(pick_nodes(well, {3, 3}, true, {.unwanted = {"n2"}}).list, "n[1-3]")
      << "all are needed";
  EXPECT_EQ(pick_nodes(two_of_three(), {2, 2}, true, {.unwanted = {"n1"}}).list, "n[1,3]");
}

TEST(StartNodes, ElasticRanksTakeAllThatAreFit) {
  const NodeFitness well{.fit = {"n1", "n2", "n3"}};
  EXPECT_EQ(pick_nodes(two_of_three(), {3, 2}, true).list, "n[1,3]");
  EXPECT_EQ(pick_nodes(well, {3, 2}, true).list, "n[1-3]");
  EXPECT_EQ(pick_nodes(well, {2, 1}, true).list, "n[1-2]");
  EXPECT_TRUE(pick_nodes(two_of_three(), {4, 3}, true).too_few);
}

TEST(StartNodes, ElasticRanksAreAsManyAsTheirNodesHave) {
  SupervisedRun run;
  run.start = start_command_of({"srun", "--nodes=4", "--ntasks=32", "--ntasks-per-node=8", "app"});
  run.nodes = 4;
  run.ranks_per_node = 8;
  start_on({.list = "n[1,3]"}, run);
  EXPECT_EQ(run.nodes, 2u);
  EXPECT_THAT(run.start.argv(), ElementsAre("srun", "--nodelist=n[1,3]", "--nodes=2", "--ntasks=16",
                                            "--ntasks-per-node=8", "app"));
}

TEST(StartNodes, OnlyWhatWasSeenIsWrittenDown) {
  const JobAllocation allocation{.job = "17", .restarts = 2};
  EXPECT_FALSE(seen_in(pick_nodes({.fit = {"n1", "n2"}}, {1, 1}, true), allocation, 5));
  const auto looked =
      seen_in(pick_nodes({.fit = {"n1"}, .seconds = 1}, {1, 1}, true), allocation, 5);
  ASSERT_TRUE(looked);
  EXPECT_EQ(looked->unfit, "");
  const auto lost = seen_in(
      pick_nodes({.fit = {"n1"}, .unfit = {"n2"}, .why = "n2: lost"}, {1, 1}, true), allocation, 5);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->unfit, "n2");
  EXPECT_EQ(lost->why, "n2: lost");
  EXPECT_EQ(lost->allocation, 2);
}

/// Slurm's answers about job 17 on three nodes; the ranks need two.
class Allocated : public testing::Test {
 protected:
  void slurm_says(const std::string& state, const std::string& nodes, const std::string& of_n2) {
    system_.answers["scontrol show job 17"] = {
        0,
        "JobId=17 JobName=a\n   JobState=" + state + "\n   Restarts=0\n   NodeList=" + nodes + "\n",
        ""};
    system_.answers["scontrol show node n[1-3]"] = {
        0,
        "NodeName=n1 State=ALLOCATED\n\nNodeName=n2 State=" + of_n2 +
            "\n\nNodeName=n3 State=ALLOCATED\n",
        ""};
  }
  static SupervisedRun run(int spare_nodes, std::string starter = "srun") {
    SupervisedRun run;
    run.recovery = {.plan = {.max_restarts = 3, .spare_nodes = spare_nodes}, .asks_ranks = true};
    run.start = start_command_of({std::move(starter), "--nodes=2", "app"});
    run.allocation = {.job = "17", .nodes = "n[1-3]", .host = "n1"};
    run.nodes = 2;
    return run;
  }

  FakeSystem system_;
  std::vector<std::string> silent_;
};

TEST_F(Allocated, WhomSlurmHasTakenOutGetsNoRanks) {
  slurm_says("RUNNING", "n[1,3]", "IDLE");
  const auto nodes = choose_start_nodes(system_, run(1), /*preflight=*/false, /*again=*/true);
  EXPECT_EQ(nodes.list, "n[1,3]");
  EXPECT_THAT(nodes.fitness.unfit, ElementsAre("n2"));
  EXPECT_EQ(nodes.fitness.why, "n2: Slurm reports it lost");
}

TEST_F(Allocated, NorWhoIsSilent) {
  slurm_says("RUNNING", "n[1-3]", "ALLOCATED*");
  EXPECT_EQ(choose_start_nodes(system_, run(0), false, true).list, "n[1,3]");
  EXPECT_TRUE(choose_start_nodes(system_, run(0, "mpirun"), false, true).too_few)
      << "it cannot leave a node out";
}

TEST_F(Allocated, NorWhoAcceptsNoConnectionAlthoughSlurmHasNotNoticed) {
  slurm_says("RUNNING", "n[1-3]", "ALLOCATED NodeAddr=127.0.0.1 Port=1");
  const auto nodes = choose_start_nodes(system_, run(1), false, true);
  EXPECT_EQ(nodes.list, "n[1,3]");
  EXPECT_EQ(nodes.fitness.why, "n2: does not answer");
  EXPECT_THAT(nodes.fitness.silent, ElementsAre("n2"));
  EXPECT_TRUE(nodes.overlap) << "its step keeps the CPUs of the others";
  EXPECT_TRUE(has_enough_nodes(system_, run(1), silent_));
  EXPECT_THAT(silent_, ElementsAre("n2"));
}

TEST_F(Allocated, AFirstStartAsksOnlyWhereThereAreSpareNodes) {
  slurm_says("RUNNING", "n[1-3]", "ALLOCATED");
  EXPECT_EQ(choose_start_nodes(system_, run(0), false, false).list, "");
  EXPECT_THAT(system_.ran, IsEmpty());
  EXPECT_EQ(choose_start_nodes(system_, run(1), false, false).list, "n[1-2]");
}

TEST_F(Allocated, NorWhoseNumbersWereWrong) {
  slurm_says("RUNNING", "n[1-3]", "ALLOCATED");
  const BadNodes bad{.nodes = {"n2", "n2", "n7"}, .why = "its numbers were wrong"};
  auto nodes = choose_start_nodes(system_, run(1), false, true, {}, bad);
  EXPECT_EQ(nodes.list, "n[1,3]");
  EXPECT_EQ(nodes.fitness.why, "n2: its numbers were wrong");
  EXPECT_FALSE(nodes.too_few);
  auto larger = run(0);
  larger.nodes = 3;
  EXPECT_TRUE(choose_start_nodes(system_, larger, false, true, {}, bad).too_few);
  const BadNodes once{.nodes = {"n2"}, .why = bad.why};
  EXPECT_FALSE(choose_start_nodes(system_, larger, false, true, {}, once).too_few)
      << "a flipped bit may be the only one";
  EXPECT_EQ(choose_start_nodes(system_, run(1), false, true, {}, once).list, "n[1,3]");
}

TEST_F(Allocated, WithoutAnAnswerSlurmChooses) {
  const auto nodes = choose_start_nodes(system_, run(1), false, true);
  EXPECT_EQ(nodes.list, "");
  EXPECT_FALSE(nodes.too_few);
}

TEST_F(Allocated, ElasticRanksGoOnWithFewerNodes) {
  auto elastic = run(0);
  elastic.nodes = 4;
  elastic.recovery.plan.min_nodes = 2;
  EXPECT_EQ(choose_start_nodes(system_, elastic, false, false).list, "n[1-3]")
      << "Slurm gave three, and does not answer";
  slurm_says("RUNNING", "n[1,3]", "DOWN");
  EXPECT_TRUE(has_enough_nodes(system_, elastic, silent_));
  EXPECT_EQ(choose_start_nodes(system_, elastic, false, true).list, "n[1,3]");
  elastic.recovery.plan.min_nodes = 3;
  EXPECT_FALSE(has_enough_nodes(system_, elastic, silent_));
  EXPECT_TRUE(choose_start_nodes(system_, elastic, false, true).too_few);
}

/// Slurm's word of a node that is busy may be old; of this one the process knows better.
TEST_F(Allocated, ThisNodeIsThereWhileSlurmOnlyMissesItsAnswer) {
  slurm_says("RUNNING", "n[1-3]", "ALLOCATED*");
  auto from_n2 = run(0);
  from_n2.allocation.host = "n2";
  EXPECT_EQ(nodes_left(system_, from_n2.allocation)->gone, std::vector<std::string>());
  EXPECT_TRUE(has_enough_nodes(system_, from_n2, silent_));
  slurm_says("RUNNING", "n[1-3]", "DOWN*");
  EXPECT_THAT(nodes_left(system_, from_n2.allocation)->gone, ElementsAre("n2"));
}

TEST_F(Allocated, ALostNodeLeavesEnoughOrNot) {
  slurm_says("RUNNING", "n[1,3]", "DOWN");
  EXPECT_TRUE(has_enough_nodes(system_, run(1), silent_));
  auto larger = run(1);
  larger.nodes = 3;
  EXPECT_FALSE(has_enough_nodes(system_, larger, silent_));
  auto from_n2 = run(1);
  from_n2.allocation.host = "n2";
  EXPECT_FALSE(has_enough_nodes(system_, from_n2, silent_)) << "this very node is lost";
  EXPECT_FALSE(has_enough_nodes(system_, run(1, "mpirun"), silent_));
  auto unprepared = run(1);
  unprepared.recovery.asks_ranks = false;
  EXPECT_FALSE(has_enough_nodes(system_, unprepared, silent_));
  slurm_says("COMPLETING", "n[1,3]", "DOWN");
  EXPECT_FALSE(has_enough_nodes(system_, run(1), silent_)) << "Slurm ends the job";
}

TEST(StartNodes, TheStartCountsAloneFromThen) {
  SupervisedRun run;
  run.start = start_command_of({"srun", "--nodes=2", "app"});
  run.allocation.nodes = "n[1-3]";
  const auto before = run;
  start_on({.list = "n[1,3]"}, run);
  EXPECT_THAT(run.start.argv(), ElementsAre("srun", "--nodelist=n[1,3]", "--nodes=2", "app"));
  EXPECT_EQ(run.allocation.nodes, "n[1,3]");
  run = before;
  start_on({.list = "n[1,3]", .overlap = true}, run);
  EXPECT_THAT(run.start.argv(),
              ElementsAre("srun", "--nodelist=n[1,3]", "--overlap", "--nodes=2", "app"));
}

}  // namespace
}  // namespace dllaunch
