#include "launcher/plan/node_topology.hpp"

#include <gmock/gmock.h>

#include "launcher/cluster/cluster_profile.hpp"
#include "support/json.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/launcher/sample_probes.hpp"
#include "topology/discovery/topology_format.hpp"
#include "topology/node/synthetic.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t three_days = 3 * 24 * 3600;

/// The a100 nodes of mixed_cluster(), probed three days before the facts were observed.
Facts probed_cluster() {
  auto facts = mixed_cluster();
  facts.probed = {probe_of(facts, facts.slurm->partitions[1].node_types[0])};
  facts.probed[0].topology.gpus[0].name = "as it was seen";
  facts.time = facts.probed[0].time + three_days;
  return facts;
}

KnownTopology known(const Facts& facts, const std::string& partition = "gpu", int gpus = 4) {
  const auto nodes = select_nodes(
      {.nodes = 2, .gpus_per_node = gpus, .partition = partition, .constraint = "a100"},
      *facts.slurm, true);
  EXPECT_TRUE(nodes) << nodes.error().what;
  return nodes ? known_topology(facts, *nodes) : KnownTopology{};
}

TEST(NodeTopology, TheProbeComesFirst) {
  auto facts = probed_cluster();
  facts.topology = facts.probed[0].topology;
  facts.topology->gpus[0].name = "of the facts";
  const auto best = known(facts);
  EXPECT_EQ(best.topology.gpus[0].name, "as it was seen");
  EXPECT_TRUE(best.exact);
  EXPECT_THAT(best.warnings, IsEmpty());
  EXPECT_EQ(origin_words(best.origin),
            "probed on g1, 3 days ago; `dllaunch probe gpu` refreshes it");
  EXPECT_EQ(best.origin.age_seconds, three_days);
}

TEST(NodeTopology, ThenTheFactsThenSlurmsCounts) {
  auto facts = mixed_cluster();
  EXPECT_EQ(known(facts).origin.source, "slurm");
  EXPECT_FALSE(known(facts).exact);
  EXPECT_EQ(origin_words(known(facts).origin),
            "Slurm's counts alone; each rank looks again on its node, `dllaunch probe gpu` looks "
            "now");
  facts.topology = probed_cluster().probed[0].topology;
  EXPECT_EQ(known(facts).origin.source, "facts");
  EXPECT_TRUE(known(facts).exact);
  EXPECT_EQ(origin_words(known(facts).origin), "as the facts have it");
}

TEST(NodeTopology, ThePartitionNeedNotBeTheOneThatWasProbed) {
  EXPECT_EQ(known(probed_cluster(), "batch").origin.source, "probe");
  EXPECT_EQ(known(probed_cluster(), "batch").origin.partition, "batch");
}

TEST(NodeTopology, ANewFeatureDoesNotMakeANewNode) {
  auto facts = probed_cluster();
  for (auto& partition : facts.slurm->partitions)
    for (auto& type : partition.node_types) {
      type.features.emplace_back("maintenance-done");
      type.memory_mib += 1;
    }
  EXPECT_EQ(known(facts).origin.source, "probe") << "the same nodes with the same counts";
  facts.probed[0].type.hosts = {"elsewhere"};
  const auto other = known(facts);
  EXPECT_EQ(other.origin.source, "slurm") << "other nodes: the counts alone prove nothing";
  EXPECT_THAT(other.warnings, IsEmpty());
}

TEST(NodeTopology, ANodeThatSlurmDescribesOtherwiseNowIsRefusedAloud) {
  auto facts = probed_cluster();
  facts.probed[0].type.gpus = 2;
  facts.probed[0].type.gpu_type = "v100";
  const auto refused = known(facts);
  EXPECT_EQ(refused.origin.source, "slurm");
  EXPECT_THAT(refused.warnings,
              ElementsAre("the topology probed on g1 3 days ago is not used: Slurm described the "
                          "node as 64 CPUs (2 x 16 x 2), 2 GPUs (v100) then, and as 64 CPUs (2 x "
                          "16 x 2), 4 GPUs (a100) now; `dllaunch probe gpu` looks again"));
}

TEST(NodeTopology, ATopologyThatIsNotWhatSlurmSaysIsRefusedAloud) {
  auto facts = probed_cluster();
  facts.probed[0].topology.gpus.pop_back();
  const auto refused = known(facts);
  EXPECT_EQ(refused.origin.source, "slurm");
  EXPECT_THAT(refused.warnings,
              ElementsAre(HasSubstr("has 64 CPUs, 3 GPUs, nodes of partition gpu have 64 CPUs "
                                    "(2 x 16 x 2), 4 GPUs (a100) according to Slurm")));
}

TEST(NodeTopology, AClockThatRunsBehindMakesNoNegativeAge) {
  auto facts = probed_cluster();
  facts.time = 0;
  EXPECT_EQ(known(facts).origin.age_seconds, 0);
}

/// Two kinds of a100 node in one partition, alike but for a feature; the masks of both.
TEST(NodeTopology, MasksMustHoldOnEveryKindOfNode) {
  auto facts = probed_cluster();
  auto& types = facts.slurm->partitions[1].node_types;
  types[1] = types[0];
  types[1].hosts = {"r1"};
  types[1].features = {"a100", "rack2"};
  const auto nodes = select_nodes({.nodes = 2, .partition = "gpu"}, *facts.slurm, true);
  ASSERT_TRUE(nodes);
  ASSERT_EQ(nodes->others.size(), 1u);
  const auto best = known_topology(facts, *nodes);
  const auto placement = *place_ranks(best.topology, {});
  const auto same = [&] { return same_on_every_kind(facts, *nodes, {}, placement); };
  EXPECT_FALSE(same()) << "r1 is unprobed";
  facts.probed.push_back(probe_of(facts, types[1]));
  EXPECT_TRUE(same());
  auto& node = facts.probed.back().topology;
  node.gpus[0].cpus = node.numa[1].cpus;
  node.gpus[0].numa = {1};
  EXPECT_FALSE(same()) << "its GPUs hang elsewhere";
}

TEST(NodeTopology, AProfilesNodeIsKnownByItsLooks) {
  auto profile = std::make_shared<ClusterProfile>();
  profile->name = "site";
  const auto node = [](const char* name, const char* feature, const char* gpu_type) {
    ProfileNode made{.name = name, .gpu_type = gpu_type, .features = {feature}};
    made.topology = *synthetic_topology("packages:2 cores:16 threads:2 gpus:4");
    return made;
  };
  profile->nodes = {node("old", "v100", "v100"), node("plain", "eth", ""), node("fast", "ib", "")};
  auto& gpus = profile->nodes[2].topology.gpus;
  std::swap(gpus[0].cpus, gpus[3].cpus);
  auto facts = mixed_cluster();
  facts.profile = profile;
  const auto chosen = [&] { return known(facts).topology.gpus[0].cpus; };
  EXPECT_EQ(chosen(), gpus[0].cpus) << "the a100 nodes have ib, no eth, and another GPU than v100";
  for (auto& partition : facts.slurm->partitions)
    for (auto& type : partition.node_types) type.features = {"a100"};
  EXPECT_EQ(known(facts).origin.source, "slurm") << "wired in two ways, and nothing tells which";
  gpus = profile->nodes[1].topology.gpus;
  EXPECT_EQ(known(facts).origin.source, "profile") << "the same wiring: either will do";
}

TEST(NodeTopology, TheNewestOfTwoProbesCounts) {
  auto facts = probed_cluster();
  auto older = facts.probed[0];
  older.host = "g2";
  older.time -= 1000;
  facts.probed.push_back(older);
  EXPECT_EQ(known(facts).origin.host, "g1");
}

}  // namespace
}  // namespace dllaunch
