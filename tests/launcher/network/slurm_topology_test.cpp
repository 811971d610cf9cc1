#include "launcher/network/slurm_topology.hpp"

#include <gtest/gtest.h>

#include "tests/launcher/network/drawn_network.hpp"

namespace dllaunch {
namespace {

using Names = std::vector<std::string>;

Network network(std::string_view text) {
  EXPECT_TRUE(is_slurm_topology(text));
  auto read = read_slurm_topology(text, "topology.conf");
  EXPECT_TRUE(is_sound(read));
  return read;
}

TEST(SlurmTopology, ReadsTopologyConf) {
  const auto tree = network(
      "# the tree\n"
      "SwitchName=s0 Nodes=n[1-4] LinkSpeed=100\n"
      "switchname=s1 NODES=\"n[5-6],login1\"   # keys in any case\n"
      "SwitchName=s2 \\\n  Switches=s[0-1]\n");
  EXPECT_EQ(drawn(tree), "tree: s2(s0=n[1-4] s1=login1,n[5-6])");
  EXPECT_EQ(tree.warnings, Names());
  EXPECT_EQ(tree.levels, (Names{"leaf switches", "switches above"}));
}

// Slurm 22.05 to 25.05: a switch above has the nodes of all switches below.
TEST(SlurmTopology, ReadsScontrolsTree) {
  const auto tree = network(
      "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[1-2]\n"
      "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[3-4]\n"
      "SwitchName=s2 Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=s[0-1]\n"
      "SwitchName=s3 Level=0 LinkSpeed=1 Nodes=n5\n"
      "SwitchName=s4 Level=2 LinkSpeed=1 Nodes=n[1-5] Switches=s[2-3]\n");
  EXPECT_EQ(drawn(tree), "tree: s4(s2(s0=n[1-2] s1=n[3-4]) s3=n5)");
  EXPECT_EQ(tree.warnings, Names());
}

TEST(SlurmTopology, ReadsBlocks) {
  const auto blocks = network(
      "BlockName=b1 Nodes=n[1-4]\nBlockName=b2 Nodes=n[5-8]\nBlockName=b3 Nodes=n[9-12]\n"
      "BlockName=b4 Nodes=n[13-16]\nBlockName=b5 Nodes=n[17-20]\nBlockSizes=4,8,16\n");
  EXPECT_EQ(
      drawn(blocks),
      "block: b5=n[17-20] b[1-4](b[1-2](b1=n[1-4] b2=n[5-8]) b[3-4](b3=n[9-12] b4=n[13-16]))");
}

// Slurm 24.11 to 25.05
TEST(SlurmTopology, ReadsScontrolsBlocks) {
  const auto blocks = network(
      "BlockName=b1 BlockIndex=0 Nodes=n[1-4] BlockSize=4\n"
      "BlockName=b2 BlockIndex=1 Nodes=n[5-8] BlockSize=4\n"
      "BlockName=b3 BlockIndex=2 Nodes=n[9-12] BlockSize=4\n"
      "BlockName=b4 BlockIndex=3 Nodes=n[13-16] BlockSize=4\n"
      "AggregatedBlock=b[1-4] BlockIndex=6 Nodes=n[1-16] BlockSize=16\n"
      "AggregatedBlock=b[1-2] BlockIndex=4 Nodes=n[1-8] BlockSize=8\n"
      "AggregatedBlock=b[3-4] BlockIndex=5 Nodes=n[9-16] BlockSize=8\n");
  EXPECT_EQ(drawn(blocks),
            "block: b[1-4](b[1-2](b1=n[1-4] b2=n[5-8]) b[3-4](b3=n[9-12] b4=n[13-16]))");
  EXPECT_EQ(blocks.warnings, Names());
}

TEST(SlurmTopology, FollowsRings) {
  const auto rings = network("RingName=r0 Nodes=n3,n1,n2 RingSize=3\nRingName=r1 Nodes=n[4-6]\n");
  EXPECT_EQ(drawn(rings), "ring: r0=n[1-3] r1=n[4-6]");
  EXPECT_EQ(ordered(rings), "n[3,1-2,4-6]");
}

// Slurm 26.05 prints no coordinates.
TEST(SlurmTopology, ReadsTheToriThatScontrolKnows) {
  const auto tori = network(
      "TorusName=t0 Dims=2x2x2 Nodes=n[1-8]\n  TorusName=t0 PlacementDims=2x2x1(4) Anchors=2\n"
      "TorusName=t1 Dims=1x1x2 Nodes=n[9-10]\n");
  EXPECT_EQ(drawn(tori), "torus: t0=n[1-8] t1=n[9-10]");
}

TEST(SlurmTopology, SaysWhatIsWrong) {
  const auto wrong = network(
      "SwitchName=s0 Nodes=n[1-999999999]\n"
      "SwitchName=s1 Nodes=n[1-\n"
      "SwitchName=s2 Nodes=n[1-2]\n"
      "SwitchName=s3 Switches=s[0-3],s9\n"
      "Include other.conf\n");
  EXPECT_EQ(drawn(wrong), "tree: s3(s0 s1 s2=n[1-2])");
  ASSERT_EQ(wrong.warnings.size(), 4u);
  EXPECT_EQ(wrong.warnings[0],
            "s0: host list 'n[1-999999999]', position 3: more than 131072 hosts");
  EXPECT_EQ(wrong.warnings[1], "s1: host list 'n[1-', position 2: this bracket is not closed");
  EXPECT_EQ(wrong.warnings[2], "s9 is part of a larger unit, but not described");
  EXPECT_EQ(wrong.warnings[3], "s3 is in a loop: the line that closes it is left out");
}

TEST(SlurmTopology, RefusesMoreNodesThanAnyClusterHas) {
  std::string text;
  for (int i = 0; i < 10'000; ++i)
    text += "SwitchName=s" + std::to_string(i) + " Nodes=a" + std::to_string(i) + "n[1-100000]\n";
  const auto wrong = network(text);
  EXPECT_TRUE(wrong.leaf_of.empty());
  EXPECT_EQ(wrong.warnings,
            Names{"the description is ignored: more nodes than any cluster has, or too many wrong "
                  "lists"});
}

}  // namespace
}  // namespace dllaunch
