#include "launcher/cluster/slurm_facts.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <random>
#include <sstream>

#include "support/json.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string fixture(const std::string& name) {
  std::ifstream file(DLLAUNCH_SOURCE_DIR "/tests/fixtures/slurm/" + name);
  EXPECT_TRUE(file) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string recording() {
  return fixture("22.05/config.txt") + fixture("22.05/partition.txt") + fixture("22.05/node.txt") +
         fixture("22.05/reservation.txt") + fixture("22.05/mpi-list.txt");
}

TEST(SlurmFacts, ARecordingInTextIsAsGoodAsFacts) {
  const auto facts = facts_from_recording(recording());
  ASSERT_TRUE(facts) << facts.error().what;
  ASSERT_TRUE(facts->slurm);
  EXPECT_EQ(facts->slurm->version, "22.05.8");
  EXPECT_EQ(facts->slurm->cluster, "aurochs");
  EXPECT_THAT(facts->slurm->mpi_types,
              ElementsAre("pmix", "none", "cray_shasta", "pmi2", "pmix_v4"));
  ASSERT_EQ(facts->slurm->partitions.size(), 2U);
  EXPECT_EQ(facts->slurm->partitions[0].node_types.size(), 3U);
  const auto& gpu = facts->slurm->partitions[1];
  EXPECT_EQ(gpu.state, "DRAIN");
  EXPECT_EQ(gpu.default_minutes, 30);
  EXPECT_EQ(gpu.max_nodes, 8);
  ASSERT_TRUE(facts->slurm->reservations);
  EXPECT_EQ(facts->slurm->reservations->size(), 2U);
}

TEST(SlurmFacts, ABraceInTheLastLineIsDamage) {
  // Once read again and again: the stream cannot say where it is behind its end.
  const auto facts = facts_from_recording(recording() + "{Slurmctld");
  ASSERT_FALSE(facts);
  EXPECT_THAT(facts.error().what, HasSubstr("it is JSON, but damaged"));
}

TEST(SlurmFacts, NodesOutOfOrderAreListed) {
  const auto facts = facts_from_recording(recording());
  ASSERT_TRUE(facts);
  ASSERT_EQ(facts->slurm->outages.size(), 1U);
  EXPECT_THAT(facts->slurm->outages[0].hosts, ElementsAre("n2"));
  EXPECT_EQ(facts->slurm->outages[0].state, "DOWN*");
  EXPECT_EQ(facts->slurm->outages[0].reason, "bad disk");
  for (const auto* state : {"IDLE", "MIXED+PLANNED", "ALLOCATED", "IDLE+POWERED_DOWN", "IDLE~",
                            "RESERVED", "IDLE+MAINTENANCE"})
    EXPECT_FALSE(is_out_of_order(state)) << state;
  for (const auto* state : {"DOWN", "IDLE+DRAIN", "MIXED+DRAIN", "IDLE*", "UNKNOWN", "down",
                            "IDLE+NOT_RESPONDING", "FAIL"})
    EXPECT_EQ(is_out_of_order(state), std::string(state) != "down") << state;
  EXPECT_TRUE(is_out_of_order("MIXED*+POWER_DOWN"));
  for (const auto* state : {"DOWN", "MIXED*", "ALLOCATED*+DRAIN", "IDLE+NOT_RESPONDING"})
    EXPECT_TRUE(is_gone(state)) << state;
  for (const auto* state : {"IDLE+DRAIN", "DRAINING", "FAILING", "ALLOCATED+POWER_DOWN", ""})
    EXPECT_FALSE(is_gone(state)) << state;
}

TEST(SlurmFacts, TextAndJsonMayStandInOneFile) {
  const auto facts = facts_from_recording(
      "ClusterName = mixed\n"
      "{\n \"sinfo\": [{\"nodes\": {\"nodes\": [\"n1\", \"n2\"]}, \"cpus\": {\"minimum\": 4},\n"
      " \"partition\": {\"name\": \"p\", \"partition\": {\"state\": [\"UP\"]}}}]}\n"
      "SLURM_VERSION = 23.11.1\n"
      "{\"reservations\": [{\"name\": \"r\", \"node_list\": \"n1\"}]}\nMPI plugin types "
      "are...\n\tpmix\n");
  ASSERT_TRUE(facts) << facts.error().what;
  EXPECT_EQ(facts->slurm->cluster, "mixed");
  EXPECT_EQ(facts->slurm->version, "23.11.1");
  ASSERT_EQ(facts->slurm->partitions.size(), 1U);
  EXPECT_THAT(facts->slurm->partitions[0].node_types.at(0).hosts, ElementsAre("n1", "n2"));
  EXPECT_EQ(facts->slurm->partitions[0].node_types[0].cpus, 4);
  ASSERT_TRUE(facts->slurm->reservations);
  EXPECT_THAT(facts->slurm->mpi_types, ElementsAre("pmix"));
}

TEST(SlurmFacts, NodesAloneAreEnough) {
  const auto facts = facts_from_recording(
      R"({"nodes": [{"name": "n1", "cpus": 8, "partitions": ["a", "b"], "state": "idle"}]})");
  ASSERT_TRUE(facts) << facts.error().what;
  EXPECT_EQ(facts->slurm->partitions.size(), 2U);
}

TEST(SlurmFacts, SaysHowToRecordOne) {
  for (const auto* text : {"", "hello\n", "{}", "PartitionName=p State=UP\n"}) {
    const auto facts = facts_from_recording(text);
    ASSERT_FALSE(facts) << text;
    EXPECT_EQ(facts.error().kind, ErrorKind::bad_request);
    EXPECT_THAT(facts.error().hint, HasSubstr("scontrol show node"));
  }
  const auto damaged = facts_from_recording("{\"nodes\": [");
  ASSERT_FALSE(damaged);
  EXPECT_THAT(damaged.error().what, HasSubstr("damaged"));
}

/// Facts with every field set at random go through JSON and come back the same.
TEST(SlurmFacts, RandomFactsRoundTripThroughJson) {
  std::mt19937 random(5);
  const auto below = [&random](int n) {
    return static_cast<int>(random() % static_cast<unsigned>(n));
  };
  const auto word = [&] { return std::string("w") + std::to_string(below(1000)); };
  const auto words = [&] {
    std::vector<std::string> list;
    for (int i = below(4); i > 0; --i) list.push_back(word());
    return list;
  };
  const auto maybe = [&] { return below(2) == 0 ? std::nullopt : std::optional<int>(below(5000)); };
  for (int round = 0; round < 500; ++round) {
    Facts facts{.host = word(), .slurm = SlurmFacts{}, .why_no_slurm = {}, .topology = {}};
    auto& slurm = *facts.slurm;
    slurm.version = word();
    slurm.enforced = words();
    for (int p = below(4); p > 0; --p) {
      Partition partition{.name = word(), .is_default = below(2) == 0, .up = below(2) == 0};
      partition.state = word();
      partition.max_minutes = maybe();
      partition.default_minutes = maybe();
      partition.max_nodes = maybe();
      partition.min_nodes = below(9);
      partition.accounts = {.allowed = words(), .denied = words()};
      partition.qos = {.allowed = words(), .denied = words()};
      partition.groups = {.allowed = words(), .denied = words()};
      for (int t = below(3); t > 0; --t)
        partition.node_types.push_back(
            {.hosts = words(), .cpus = 1 + below(256), .gpus = below(9)});
      slurm.partitions.push_back(partition);
    }
    for (int i = below(3); i > 0; --i) slurm.outages.push_back({words(), word(), "why: " + word()});
    if (below(2) == 0) {
      slurm.reservations.emplace();
      for (int i = below(3); i > 0; --i)
        slurm.reservations->push_back({.name = word(),
                                       .active = below(2) == 0,
                                       .start = below(1 << 30),
                                       .end = below(1 << 30),
                                       .hosts = words(),
                                       .partition = word(),
                                       .users = words(),
                                       .accounts = words(),
                                       .groups = words(),
                                       .flags = words()});
    }
    if (below(2) == 0) {
      slurm.user = SlurmUser{.name = word(), .groups = words(), .default_account = word()};
      if (below(2) == 0) slurm.user->associations = {{word(), word(), words()}};
    }
    const auto document = to_json(facts);
    const auto back = facts_from_json(Json::parse(document.dump()));
    ASSERT_TRUE(back) << back.error().what;
    ASSERT_EQ(to_json(*back), document);
    ASSERT_EQ(back->slurm->reservations, slurm.reservations);
    ASSERT_EQ(back->slurm->user, slurm.user);
    ASSERT_EQ(back->slurm->outages, slurm.outages);
  }
}

}  // namespace
}  // namespace dllaunch
