#include "launcher/cluster/probed_node.hpp"

#include <gmock/gmock.h>

#include "support/json.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/launcher/sample_probes.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

NodeType a100() {
  return mixed_cluster().slurm->partitions[1].node_types[0];
}

Json record() {
  return to_json(probe_of(mixed_cluster(), a100()));
}

std::string refusal(const Json& document) {
  const auto read = probed_node_from_json(document);
  if (read) return "none";
  EXPECT_EQ(read.error().kind, ErrorKind::bad_request);
  EXPECT_THAT(read.error().hint, HasSubstr("dllaunch probe"));
  return read.error().what;
}

TEST(ProbedNode, RoundTripsThroughJson) {
  const auto written = record();
  const auto read = probed_node_from_json(written);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(to_json(*read), written);
  EXPECT_EQ(read->host, "g1");
  EXPECT_EQ(read->drivers.at(0).second, "535.104.05");
  EXPECT_EQ(read->type.hosts.size(), 3u);
}

TEST(ProbedNode, RefusesWhatItCannotRead) {
  EXPECT_EQ(refusal(Json::array()), "not a record of a probed node");
  EXPECT_EQ(refusal(Json::object()), "not a record of a probed node");
  auto newer = record();
  newer["format"] = 2;
  newer.erase("topology");
  EXPECT_EQ(refusal(newer), "it is of format 2, this dllaunch reads up to 1");
  newer["format"] = 1e300;
  EXPECT_EQ(refusal(newer), "not a record of a probed node");
  newer["format"] = 18446744073709551615U;
  EXPECT_THAT(refusal(newer), HasSubstr("of format 18446744073709551615"));
  for (const auto* key : {"topology", "node_type", "host", "time", "cluster", "partitions"}) {
    auto without = record();
    without.erase(key);
    EXPECT_THAT(refusal(without), HasSubstr(key));
    auto wrong = record();
    wrong[key] = nullptr;
    EXPECT_NE(refusal(wrong), "none") << key;
  }
}

TEST(ProbedNode, RefusesWhatCannotBe) {
  for (const Json& time : {Json(-1), Json(18446744073709551615U), Json(1e9), Json("yesterday")}) {
    auto odd = record();
    odd["time"] = time;
    EXPECT_THAT(refusal(odd), testing::StartsWith("time is not ")) << time;
  }
  auto loud = record();
  loud["host"] = "n1\x1b[2J";
  EXPECT_THAT(refusal(loud), HasSubstr("control character"));
  auto many = record();
  many["node_type"]["cpus"] = 1 << 30;
  EXPECT_THAT(refusal(many), HasSubstr("cpus"));
  auto hosts = record();
  hosts["node_type"]["hosts"] = "n[1-999999999]";
  EXPECT_NE(refusal(hosts), "none");
}

TEST(ProbedNode, AnIdStandsForSlurmsDescription) {
  auto type = a100();
  const auto id = node_type_id(type);
  EXPECT_EQ(id.substr(0, 14), "4xa100-64cpus-");
  type.hosts = {"elsewhere"};
  std::reverse(type.features.begin(), type.features.end());
  EXPECT_EQ(node_type_id(type), id) << "the same kind of node";
  EXPECT_TRUE(same_description(type, a100()));
  type.features.emplace_back("new");
  EXPECT_NE(node_type_id(type), id);
  EXPECT_FALSE(same_description(type, a100()));
  EXPECT_THAT(node_type_id({.gpus = 2, .gpu_type = "../a b"}), testing::StartsWith("2x---a-b-"));
  EXPECT_THAT(node_type_id({.cpus = 8}), testing::StartsWith("8cpus-"));
}

TEST(ProbedNode, ATopologyDescribesANodeOfItsCounts) {
  const auto type = a100();
  auto topology = probe_of(mixed_cluster(), type).topology;
  EXPECT_TRUE(describes(topology, type));
  topology.cores.pop_back();
  EXPECT_TRUE(describes(topology, type)) << "a core that Slurm keeps to itself";
  topology.gpus.pop_back();
  EXPECT_FALSE(describes(topology, type));
  auto larger = type;
  larger.sockets = 4;
  EXPECT_FALSE(describes(probe_of(mixed_cluster(), type).topology, larger));
}

TEST(ProbedNode, SpeaksInWords) {
  EXPECT_EQ(shape_words(a100()), "64 CPUs (2 x 16 x 2), 4 GPUs (a100)");
  EXPECT_EQ(shape_words(probe_of(mixed_cluster(), a100()).topology), "64 CPUs, 4 GPUs");
  EXPECT_EQ(shape_words(NodeType{.cpus = 1}), "1 CPU (1 x 1 x 1)");
  EXPECT_EQ(age_words(-5), "just now");
  EXPECT_EQ(age_words(60), "1 minute ago");
  EXPECT_EQ(age_words(3600 * 5), "5 hours ago");
  EXPECT_EQ(age_words(86400 * 3 + 5), "3 days ago");
}

}  // namespace
}  // namespace dllaunch
