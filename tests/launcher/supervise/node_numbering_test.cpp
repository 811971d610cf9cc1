#include "launcher/supervise/node_numbering.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Pair;

class Numbered : public testing::Test {
 protected:
  Numbered() {
    run_.dir = {.path = folder_.path()};
    run_.nodes = 4;
    run_.ranks_per_node = 1;
    run_.allocation = {.job = "17", .nodes = "n[1-4]"};
    run_.start =
        start_command_of({"srun", "--nodes=4", "dllaunch", "exec", "--run-dir", "r", "--"});
    system_.answers["scontrol show topology"] = {
        0,
        "SwitchName=odd Level=0 LinkSpeed=1 Nodes=n[1,3]\n"
        "SwitchName=even Level=0 LinkSpeed=1 Nodes=n[2,4]\n"
        "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=odd,even\n",
        ""};
  }
  std::string hosts() const {
    std::ifstream in(folder_.path() + "/rank-hosts");
    return {std::istreambuf_iterator<char>(in), {}};
  }

  TemporaryFolder folder_;
  FakeSystem system_;
  SupervisedRun run_;
};

TEST_F(Numbered, AlongTheNetworkThatSlurmKnows) {
  NodeNumberer numberer(system_, run_);
  auto here = run_;
  const auto nodes = numberer.number(here);
  ASSERT_TRUE(nodes) << system_.logged;
  EXPECT_EQ(nodes->order, "n[1,3,2,4]");
  EXPECT_EQ(nodes->job, "17");
  EXPECT_EQ(hosts(), "n1\nn3\nn2\nn4\n");
  EXPECT_THAT(here.start.options, Contains("--nodelist=" + folder_.path() + "/rank-hosts"));
  EXPECT_THAT(here.variables, IsSupersetOf({Pair("DLLAUNCH_NODE_ORDER", "n[1,3,2,4]"),
                                            Pair("DLLAUNCH_NODE_LEAVES", "2,2")}));
}

TEST_F(Numbered, SlurmIsAskedOnce) {
  NodeNumberer numberer(system_, run_);
  for (int start = 0; start < 2; ++start) {
    auto here = run_;
    numberer.number(here);
  }
  EXPECT_EQ(
      std::ranges::count(system_.ran, std::vector<std::string>{"scontrol", "show", "topology"}), 1);
}

TEST_F(Numbered, AsBeforeInThisAllocationOnly) {
  const Journal journal{.nodes = JournalNodes{.job = "17", .order = "n[2,4,1,3]"}};
  NodeNumberer numberer(system_, run_);
  numberer.remember(journal);
  auto here = run_;
  EXPECT_EQ(numberer.number(here)->order, "n[2,4,1,3]");

  run_.allocation.restarts = 1;
  NodeNumberer requeued(system_, run_);
  requeued.remember(journal);
  here = run_;
  EXPECT_EQ(requeued.number(here)->order, "n[1,3,2,4]") << "rank 0 beside the script again";
}

TEST_F(Numbered, NotAtAllWhereTheUserSaysSo) {
  run_.network_order = NodeNumbering::slurm;
  auto here = run_;
  EXPECT_FALSE(NodeNumberer(system_, run_).number(here));
  EXPECT_EQ(here.start.options, run_.start.options);
  EXPECT_TRUE(system_.ran.empty());
  // What a run around this one has set is not for these ranks.
  EXPECT_THAT(here.variables, Contains(Pair("DLLAUNCH_NODE_ORDER", "")));
}

TEST_F(Numbered, AsGivenForArrival) {
  run_.network_order = NodeNumbering::arrival;
  run_.allocation.nodes = "n[3,1,4,2]";
  run_.ranks_per_node = 2;
  auto here = run_;
  EXPECT_EQ(NodeNumberer(system_, run_).number(here)->order, "n[3,1,4,2]");
  EXPECT_EQ(hosts(), "n3\nn3\nn1\nn1\nn4\nn4\nn2\nn2\n");
  EXPECT_THAT(here.variables, Contains(Pair("DLLAUNCH_NODE_LEAVES", "")));
}

// Ranks that Slurm would number alike keep its ordinary distribution, and still know their leaves.
TEST_F(Numbered, AsSlurmWhereThatIsTheOrder) {
  run_.allocation.nodes = "n[1,3]";
  run_.nodes = 2;
  run_.start.options = {"--nodes=2"};
  auto here = run_;
  EXPECT_TRUE(NodeNumberer(system_, run_).number(here));
  EXPECT_EQ(here.start.options, run_.start.options);
}

// The user's own order is not called the network's.
TEST_F(Numbered, NotWhereAnOptionChoosesNodesOrTheirOrder) {
  run_.allocation.nodes = "n[1,3]";
  run_.nodes = 2;
  run_.start.options.insert(run_.start.options.begin(), "--dist=cyclic");
  auto here = run_;
  EXPECT_FALSE(NodeNumberer(system_, run_).number(here));
  EXPECT_EQ(here.start.options, run_.start.options);
  EXPECT_THAT(system_.logged, HasSubstr("--dist=cyclic"));
  EXPECT_THAT(system_.logged, HasSubstr("network_order: slurm")) << "what to do";

  run_.start.options.erase(run_.start.options.begin());
  system_.variables["SLURM_DISTRIBUTION"] = "cyclic";  // sbatch --distribution
  here = run_;
  EXPECT_FALSE(NodeNumberer(system_, run_).number(here));
}

TEST_F(Numbered, ArrivalReplacesALostNodeInItsPlace) {
  run_.network_order = NodeNumbering::arrival;
  NodeNumberer numberer(system_, run_);
  numberer.remember({.nodes = JournalNodes{.job = "17", .order = "n[3,1,5,2]"}});
  auto here = run_;
  EXPECT_EQ(numberer.number(here)->order, "n[3,1,4,2]");
}

TEST_F(Numbered, AlongTheProfilesNetworkWhereSlurmKnowsNone) {
  system_.answers["scontrol show topology"] = {0, "", ""};
  run_.network = Json::parse(R"({"kind": "tree", "units": [{"name": "a", "nodes": "n[1,4]"},
                                                          {"name": "b", "nodes": "n[2-3]"}]})");
  auto here = run_;
  const auto nodes = NodeNumberer(system_, run_).number(here);
  ASSERT_TRUE(nodes) << system_.logged;
  EXPECT_EQ(nodes->order, "n[1,4,2-3]");
}

TEST_F(Numbered, AsSlurmWhereTheTopologyLies) {
  for (const char* text :
       {"", "SwitchName=s0 Level=0 Nodes=n[1-3]\n", "SwitchName=s0 Switches=s0\n", "nonsense",
        "SwitchName=s0 Nodes=n[1-\n"}) {
    system_.answers["scontrol show topology"] = {0, text, ""};
    auto here = run_;
    EXPECT_FALSE(NodeNumberer(system_, run_).number(here)) << text;
    EXPECT_EQ(here.start.options, run_.start.options);
  }
  EXPECT_THAT(system_.logged, HasSubstr("n4")) << "it says which node is not in it";
}

TEST_F(Numbered, NotWhereTheStarterChoosesAmongTheNodes) {
  run_.allocation.nodes = "n[1-5]";
  auto here = run_;
  EXPECT_FALSE(NodeNumberer(system_, run_).number(here));
}

}  // namespace
}  // namespace dllaunch
