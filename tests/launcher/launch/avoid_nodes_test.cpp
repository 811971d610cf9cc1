#include "launcher/launch/avoid_nodes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/nodes/node_book.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class AvoidNodes : public testing::Test {
 protected:
  AvoidNodes() {
    system_.variables["XDG_STATE_HOME"] = folder_.path();
    facts_.slurm.emplace();
    facts_.slurm->cluster = "c";
    facts_.slurm->partitions = {
        {.name = "gpu", .is_default = true, .node_types = {{.hosts = {"n1", "n2", "n3"}}}},
        {.name = "cpu", .node_types = {{.hosts = {"m1", "m2"}}}}};
    job_.recovery.avoid = {"auto"};
  }

  void lose_twice(const std::string& node) {
    std::vector<NodeSighting> seen;
    for (const double age : {10.0, 90'000.0})
      seen.push_back({.time = unix_seconds() - age,
                      .kind = SightingKind::failed,
                      .cluster = "c",
                      .nodes = node,
                      .value = 1,
                      .words = "Slurm lost it"});
    ASSERT_TRUE(append_to_node_book({folder_.path() + "/dllaunch/nodes.jsonl"}, seen, 1));
  }
  std::string excluded() const { return job_.resources.exclude.value_or(""); }

  TemporaryFolder folder_;
  FakeSystem system_;
  Facts facts_;
  Job job_;
};

TEST_F(AvoidNodes, WithoutAnEntryNothingChanges) {
  EXPECT_THAT(avoid_nodes(system_, job_, facts_), IsEmpty());
  EXPECT_FALSE(job_.resources.exclude);
}

TEST_F(AvoidNodes, TheBooksWorstIsExcludedAndNamed) {
  lose_twice("n2");
  EXPECT_THAT(avoid_nodes(system_, job_, facts_),
              ElementsAre(HasSubstr("recovery.avoid: avoids n2: 2 failures, the last")));
  EXPECT_EQ(excluded(), "n2");
}

TEST_F(AvoidNodes, BesideWhatTheUserExcludes) {
  lose_twice("n2");
  job_.resources.exclude = "n3";
  avoid_nodes(system_, job_, facts_);
  EXPECT_EQ(excluded(), "n3,n2");
  job_.resources.exclude = "n2";
  EXPECT_THAT(avoid_nodes(system_, job_, facts_), IsEmpty()) << "it is excluded already";
  job_.resources.exclude = "/home/me/nodes";
  EXPECT_THAT(avoid_nodes(system_, job_, facts_), ElementsAre(HasSubstr("names a file")));
}

TEST_F(AvoidNodes, OnlyInTheJobsPartition) {
  lose_twice("m1");
  EXPECT_THAT(avoid_nodes(system_, job_, facts_), IsEmpty());
  job_.resources.partition = "cpu";
  avoid_nodes(system_, job_, facts_);
  EXPECT_EQ(excluded(), "m1");
}

TEST_F(AvoidNodes, NeverFromAJobThatNeedsThemAll) {
  lose_twice("n2");
  job_.resources.nodes = 2;
  job_.recovery.spare_nodes = 1;
  EXPECT_THAT(avoid_nodes(system_, job_, facts_), ElementsAre(HasSubstr("does not avoid n2")));
  EXPECT_EQ(excluded(), "");
}

TEST_F(AvoidNodes, NodesThatAreDownAreNoneToChooseFrom) {
  lose_twice("n2");
  job_.resources.nodes = 2;
  facts_.slurm->outages = {{.hosts = {"n3"}, .state = "DOWN"}};
  EXPECT_THAT(avoid_nodes(system_, job_, facts_),
              ElementsAre(HasSubstr("the job needs 2 of the 2")));
  facts_.slurm->outages = {{.hosts = {"n2"}, .state = "DRAIN"}};
  EXPECT_THAT(avoid_nodes(system_, job_, facts_), IsEmpty()) << "Slurm leaves it out";
}

TEST_F(AvoidNodes, NodesThatTheUserNames) {
  job_.recovery.avoid = {"n[1-2]", "m1"};
  avoid_nodes(system_, job_, facts_);
  EXPECT_EQ(excluded(), "n[1-2]");
}

TEST_F(AvoidNodes, ANodeThatTheClusterLacksIsNamed) {
  job_.recovery.avoid = {"n3", "n[76-77]"};
  EXPECT_THAT(avoid_nodes(system_, job_, facts_),
              ElementsAre(HasSubstr("avoids n3"),
                          "recovery.avoid: n[76-77]: this cluster has no such node"));
  EXPECT_EQ(excluded(), "n3");
}

TEST_F(AvoidNodes, ABookThatCannotBeReadIsNoObstacle) {
  system_.variables[node_book_variable] = folder_.path();
  EXPECT_THAT(avoid_nodes(system_, job_, facts_),
              ElementsAre(HasSubstr("has no effect: node book")));
  job_.resources.sbatch_extra = {"-w n1"};
  EXPECT_THAT(avoid_nodes(system_, job_, facts_), ElementsAre(HasSubstr("--nodelist names")));
}

}  // namespace
}  // namespace dllaunch
