#include "launcher/probe/render_probe.hpp"

#include <gmock/gmock.h>

#include "launcher/cluster/probed_node.hpp"
#include "support/json.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/launcher/sample_probes.hpp"
#include "tests/support/golden.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

ProbeOutcome outcome() {
  const auto facts = mixed_cluster();
  const auto& types = facts.slurm->partitions[0].node_types;
  auto a100 = probe_of(facts, types[1]);
  a100.partitions = {"batch", "gpu"};
  auto thin = probe_of(facts, types[0]);
  thin.topology.cores.resize(2);
  thin.topology.present_cpus = {0, 1};
  thin.drivers = {};
  thin.kernel = "";
  return {.kept = {{.node = a100, .files = {.json = "/c/a.json", .xml = "/c/a.xml"}},
                   {.node = thin, .files = {.json = "/c/b.json", .xml = "/c/b.xml"}}},
          .missed = {{.target = {.type = facts.slurm->partitions[1].node_types[1],
                                 .places = {{.partition = "gpu"}, {.partition = "all"}}},
                      .why = "not done within 600 s: job 3, held"}}};
}

TEST(RenderProbe, ThePageIsGolden) {
  EXPECT_TRUE(matches_golden("launcher/probe.txt", render_probes(outcome())));
}

TEST(RenderProbe, TheListIsGolden) {
  std::vector<ProbedNode> nodes;
  for (const auto& kept : outcome().kept) nodes.push_back(kept.node);
  EXPECT_TRUE(matches_golden("launcher/probe_list.txt",
                             render_probe_list(nodes, nodes[0].time + 26 * 3600)));
}

TEST(RenderProbe, JsonNamesWhatWasKeptAndMissed) {
  const auto document = probes_json(outcome());
  const auto& first = document["probed"][0];
  EXPECT_EQ(first["partitions"], (std::vector<std::string>{"batch", "gpu"}));
  EXPECT_EQ(first["hosts"], "g[1-3]");
  EXPECT_EQ(first["gpus"], 4);
  EXPECT_EQ(first["drivers"]["nvidia"], "535.104.05");
  EXPECT_EQ(first["fits"], true);
  EXPECT_EQ(first["age_seconds"], 0);
  EXPECT_EQ(first["xml"], "/c/a.xml");
  EXPECT_EQ(document["probed"][1]["fits"], false);
  EXPECT_EQ(
      document["missed"].dump(),
      R"([{"partitions":"gpu,all","hosts":"h1","why":"not done within 600 s: job 3, held"}])");
}

TEST(RenderProbe, TheListSaysWhichFilesAndHowOld) {
  ProbeCache cache;
  cache.nodes = {outcome().kept[0].node};
  cache.complaints = {"x.json is not used: it is not JSON"};
  const auto document = probe_list_json(cache, "/cache", cache.nodes[0].time + 60);
  EXPECT_EQ(document["probed"][0]["age_seconds"], 60);
  EXPECT_EQ(document["probed"][0]["file"],
            "/cache/cluster/" + node_type_id(cache.nodes[0].type) + ".json");
  EXPECT_EQ(document["damaged"].size(), 1u);
}

}  // namespace
}  // namespace dllaunch
