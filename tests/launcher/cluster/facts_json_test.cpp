#include <gmock/gmock.h>

#include "launcher/cluster/facts.hpp"
#include "support/json.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/support/golden.hpp"

namespace dllaunch {
namespace {

std::string problem(const char* text) {
  const auto facts = facts_from_json(Json::parse(text));
  return facts ? "none" : facts.error().what;
}

TEST(FactsJson, RoundTrips) {
  auto bare = one_machine("cores:2 gpus:1");
  bare.no_mpirun = bare.no_mpi_module = true;
  for (const auto& facts :
       {small_cluster(), mixed_cluster(), lumi_like(), one_machine("cores:2 gpus:1"), bare}) {
    const auto document = to_json(facts);
    const auto back = facts_from_json(Json::parse(document.dump()));
    ASSERT_TRUE(back) << back.error().what;
    EXPECT_EQ(to_json(*back), document);
    EXPECT_EQ(back->no_mpirun, facts.no_mpirun);
    EXPECT_EQ(back->no_mpi_module, facts.no_mpi_module);
  }
}

TEST(FactsJson, KeepsEveryKindOfGpuAndSubmitPlugin) {
  auto facts = mixed_cluster();
  facts.slurm->submit_plugins = {"lua"};
  auto& node = facts.slurm->partitions[1].node_types[0];
  node.gpu_gres = {{"a100", 4}, {"1g.5gb", 7}};
  const auto back = facts_from_json(Json::parse(to_json(facts).dump()));
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(back->slurm->partitions[1].node_types[0].gpu_gres, node.gpu_gres);
  EXPECT_EQ(back->slurm->submit_plugins, facts.slurm->submit_plugins);
  EXPECT_TRUE(back->slurm->partitions[0].node_types[0].gpu_gres.empty());
  // A file of before has neither.
  const auto old = facts_from_json(Json::parse(
      R"({"slurm": {"partitions": [{"name": "p", "node_types": [{"hosts": "n1", "gpus": 4,
          "gpu_type": "a100"}]}]}})"));
  ASSERT_TRUE(old) << old.error().what;
  EXPECT_EQ(old->slurm->partitions[0].node_types[0].gpus, 4);
  EXPECT_TRUE(old->slurm->submit_plugins.empty());
}

TEST(FactsJson, WritesAFilePeopleCanSend) {
  EXPECT_TRUE(
      matches_file("tests/fixtures/facts/lumi-like.json", to_json(lumi_like()).dump(1) + "\n"));
  EXPECT_TRUE(
      matches_file("tests/fixtures/facts/small.json", to_json(small_cluster()).dump(1) + "\n"));
}

TEST(FactsJson, MissingFieldsKeepTheirDefaults) {
  const auto facts = facts_from_json(
      Json::parse(R"({"slurm": {"partitions": [{"name": "p", "node_types": [{"hosts": "n[1-2]"}]}]},
                      "new": 1})"));
  ASSERT_TRUE(facts) << facts.error().what;
  const auto& node = facts->slurm->partitions.at(0).node_types.at(0);
  EXPECT_EQ(node.hosts.size(), 2U);
  EXPECT_EQ(node.cpus, 1);
  EXPECT_TRUE(facts->slurm->partitions[0].up);
}

TEST(FactsJson, RefusesWhatMakesNoSense) {
  EXPECT_EQ(problem("[]"), "facts: not a JSON object");
  for (
      const auto* text :
      {R"({"slurm": 1})", R"({"slurm": {"partitions": 1}})", R"({"slurm": {"partitions": [{}]}})",
       R"({"slurm": {"partitions": [{"name": "p", "node_types": [{"hosts": "n[1-"}]}]}})",
       R"({"slurm": {"partitions": [{"name": "p", "node_types": [{"hosts": "n", "cpus": 0}]}]}})",
       R"({"slurm": {"partitions": [{"name": "p", "node_types": [{"hosts": "n", "gpus": -1}]}]}})",
       R"({"slurm": {"partitions": [{"name": "p", "node_types": [{"hosts": "n", "cpus": 1e9}]}]}})",
       R"({"topology": 1})", R"({"host": 1})"})
    EXPECT_THAT(problem(text), testing::StartsWith("facts")) << text;
}

}  // namespace
}  // namespace dllaunch
