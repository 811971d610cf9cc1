#include "launcher/doctor/bench.hpp"

#include <gtest/gtest.h>

#include "topology/discovery/discover_hwloc.hpp"
#include "topology/node/synthetic.hpp"

namespace dllaunch {
namespace {

TEST(Bench, MeasuresThisMachine) {
  const auto node = discover_topology(DeviceNames::read);
  ASSERT_TRUE(node);
  const auto answer = bench_node(*node, {}, "here");
  EXPECT_EQ(answer["host"], "here");
  ASSERT_FALSE(answer["memory"].empty()) << answer["notes"];
  bool any_local = false;
  for (const auto& item : answer["memory"]) {
    EXPECT_GT(item["gb_per_s"].get<double>(), 0);
    EXPECT_LE(item["threads"], 4);
    any_local = any_local || item["local"] == true;
  }
  EXPECT_TRUE(any_local);
  if (answer["copies"].empty()) {
    EXPECT_EQ(answer["notes"].back().get<std::string>().find("copies to a GPU were skipped: "), 0u);
  }
}

TEST(Bench, MeasuresFromTheRanksCpusEachSetOnce) {
  const auto node = discover_topology(DeviceNames::read);
  ASSERT_TRUE(node);
  const IdSet one = {node->allowed_cpus.first()};
  const auto answer = bench_node(*node, {one, one, one}, "here");
  for (const auto& item : answer["memory"]) EXPECT_EQ(item["cpus"], to_list(one));
  EXPECT_EQ(answer["memory"].size(), static_cast<std::size_t>(node->allowed_numa.size()));
}

TEST(Bench, OfAnotherMachineSaysWhatFailed) {
  // Nodes 600 and up of a machine that is not here: no memory, no CPU.
  auto node = *synthetic_topology("numa:2 cores:1");
  node.numa[0].index = 600;
  node.numa[1].index = 601;
  node.allowed_numa = {600, 601};
  const auto answer = bench_node(node, {}, "elsewhere");
  EXPECT_TRUE(answer["memory"].empty());
  EXPECT_GE(answer["notes"].size(), 4u);
}

}  // namespace
}  // namespace dllaunch
