#include "launcher/presubmit/network_checks.hpp"

#include <gtest/gtest.h>

#include "launcher/network/slurm_topology.hpp"
#include "tests/launcher/sample_plans.hpp"

namespace dllaunch {
namespace {

SlurmFacts blocks(const std::string& version = "24.11.5") {
  auto slurm = *mixed_cluster().slurm;
  slurm.version = version;
  slurm.network = read_slurm_topology(
      "BlockName=b1 Nodes=n[1-4]\nBlockName=b2 Nodes=n[5-8]\nBlockName=b3 Nodes=n[9-12]\n"
      "BlockName=b4 Nodes=n[13-16]\nBlockSizes=4,8\n",
      "the topology of Slurm");
  return slurm;
}

SlurmFacts tree() {
  auto slurm = *mixed_cluster().slurm;
  slurm.version = "22.05.8";
  slurm.network = read_slurm_topology("SwitchName=s0 Nodes=n[1-4]\nSwitchName=s1 Nodes=n[5-8]\n",
                                      "the topology of Slurm");
  return slurm;
}

/// All that was found, "!" before what is fatal, one a line.
std::string found(const SlurmFacts& slurm, int nodes, std::optional<int> segment,
                  std::optional<int> switches = {}) {
  auto job = run_job();
  job.resources.nodes = nodes;
  job.resources.segment = segment;
  job.resources.switches = switches;
  std::string all;
  for (const auto& [problem, fatal, of_node_count, check] : check_network(job, slurm)) {
    EXPECT_EQ(check, QueueCheck::placement);
    all += (fatal ? "!" : "") + problem.what + " (" + problem.hint + ")\n";
  }
  return all;
}

TEST(NetworkChecks, AdviseASegment) {
  EXPECT_EQ(found(blocks(), 4, {}), "");
  EXPECT_EQ(found(blocks(), 12, {}),
            "12 nodes are more than a block has (4): without resources.segment Slurm may cut them "
            "unevenly (set resources.segment: 4)\n");
  EXPECT_EQ(found(blocks(), 6, {}),
            "6 nodes are more than a block has (4): without resources.segment Slurm may cut them "
            "unevenly (set resources.segment: 3)\n");
  EXPECT_EQ(found(blocks(), 7, {}),
            "7 nodes are more than a block has (4): without resources.segment Slurm may cut them "
            "unevenly (ask for a multiple of 4 nodes, with resources.segment: 4)\n");
  EXPECT_EQ(found(blocks(), 12, 4), "");
  EXPECT_EQ(found(tree(), 12, {}), "");
  EXPECT_EQ(found(blocks("23.11.4"), 12, {}), "") << "has no --segment";
}

TEST(NetworkChecks, RefuseSegmentsThatCannotBeHad) {
  EXPECT_EQ(found(blocks(), 16, 8),
            "!resources.segment: 8 is more than the 4 nodes of a block (set resources.segment: "
            "4)\n");
  EXPECT_EQ(found(blocks(), 10, 4),
            "!resources.segment: 4 does not divide 10 nodes (set resources.segment: 2)\n");
  EXPECT_EQ(found(blocks("23.11.4"), 12, 4),
            "!resources.segment needs Slurm 24.05, here is 23.11.4 (remove resources.segment)\n");
  EXPECT_EQ(found(blocks(""), 12, 4), "") << "an unknown version may have it";
  auto newer = tree();
  newer.version = "25.05.1";
  EXPECT_EQ(found(newer, 8, 4),
            "resources.segment is for blocks, and the topology of Slurm has none (remove it; "
            "resources.switches keeps nodes together on a tree of switches)\n");
  newer.network = {};
  EXPECT_EQ(found(newer, 8, 4), "") << "nothing is known of the network";
}

TEST(NetworkChecks, CountSpareNodes) {
  auto job = run_job();
  job.resources.nodes = 3;
  job.recovery.spare_nodes = 1;
  job.resources.segment = 4;
  EXPECT_TRUE(check_network(job, blocks()).empty());
  job.resources.segment = 3;
  EXPECT_EQ(check_network(job, blocks()).size(), 1u);
}

TEST(NetworkChecks, KnowHowManySwitchesAJobNeeds) {
  EXPECT_EQ(found(tree(), 8, {}, 2), "");
  EXPECT_EQ(found(tree(), 6, {}, 1),
            "resources.switches: 1 leaf switch cannot hold 6 nodes: a leaf switch has at most 4; "
            "the job waits in vain, then runs on any nodes (set resources.switches: 2, or more)\n");
  EXPECT_EQ(found(blocks(), 4, {}, 1),
            "resources.switches is for a tree of switches, and the topology of Slurm is none (use "
            "resources.segment)\n");
}

}  // namespace
}  // namespace dllaunch
