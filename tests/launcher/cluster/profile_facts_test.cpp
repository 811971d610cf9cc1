#include "launcher/cluster/profile_facts.hpp"

#include <gmock/gmock.h>

#include "launcher/cluster/cluster_catalog.hpp"
#include "support/json.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<const ClusterProfile> shipped(const std::string& name) {
  FakeSystem system;
  auto found = find_profile(system, name);
  EXPECT_TRUE(found) << name;
  return std::make_shared<const ClusterProfile>(*std::move(found));
}

TEST(ProfileFacts, StandInForAClusterThatIsNotHere) {
  const auto facts = facts_from_profile(shipped("lumi-g"));
  ASSERT_TRUE(facts) << facts.error().what;
  EXPECT_TRUE(facts->from_profile);
  EXPECT_EQ(facts->slurm->cluster, "lumi-g");
  EXPECT_THAT(facts->slurm->mpi_types, ElementsAre("cray_shasta"));
  const auto& standard = facts->slurm->partitions.at(0);
  EXPECT_EQ(standard.name, "standard-g");
  EXPECT_EQ(standard.max_minutes, 2 * 24 * 60);
  const auto& node = standard.node_types.at(0);
  EXPECT_EQ(node.hosts.size(), 1024u);
  EXPECT_EQ(node.cpus, 112) << "what Slurm gives out: 56 cores with two threads";
  EXPECT_EQ(node.cores_per_socket, 64);
  EXPECT_EQ(node.gpus, 8);
  EXPECT_EQ(node.memory_mib, 512u * 1024u);
}

TEST(ProfileFacts, AProfileWithoutNodesSaysSo) {
  auto profile = std::make_shared<ClusterProfile>();
  profile->name = "home";
  const auto facts = facts_from_profile(profile);
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().what, "the cluster profile home has no partitions or nodes");
}

TEST(ProfileFacts, RoundTripThroughJson) {
  const auto facts = *facts_from_profile(shipped("summit"));
  const auto again = facts_from_json(to_json(facts));
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(to_json(*again), to_json(facts));
  ASSERT_TRUE(again->profile);
  EXPECT_EQ(again->profile->scheduler, "lsf");
  EXPECT_TRUE(again->from_profile);

  auto damaged = to_json(facts);
  damaged["profile"]["text"] = "name: [";
  const auto refused = facts_from_json(damaged);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("profile: line 1"));
}

TEST(ProfileFacts, LimitsOfThePartitionHold) {
  auto job = run_job();
  job.resources.partition = "dev-g";
  job.resources.nodes = 33;
  const auto facts = *facts_from_profile(shipped("lumi-g"));
  EXPECT_THAT(problem_of(job, facts), HasSubstr("partition dev-g has 32"));
  job.resources.nodes = 32;
  job.resources.time = "04:00:00";
  EXPECT_THAT(problem_of(job, facts), HasSubstr("the limit of partition dev-g is 180 minutes"));
}

}  // namespace
}  // namespace dllaunch
