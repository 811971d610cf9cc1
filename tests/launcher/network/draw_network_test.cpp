#include "launcher/network/draw_network.hpp"

#include <gtest/gtest.h>

#include "launcher/network/read_network.hpp"

namespace dllaunch {
namespace {

Network tree() {
  return *read_network(
      "SwitchName=s0 Nodes=n[1-4]\nSwitchName=s1 Nodes=n[5-8]\nSwitchName=s2 Nodes=n[9-12]\n"
      "SwitchName=core Switches=s[0-2]\n",
      "topology.conf");
}

TEST(DrawNetwork, ShowsUnitsOrderAndCrossings) {
  EXPECT_EQ(draw_network(tree(), order_nodes(tree(), {"n5", "n1", "n6", "n2", "n10"})),
            "topology.conf: 5 nodes, leaf switches: 3, switches above: 1\n"
            "\n"
            "  core  5 nodes\n"
            "    s0  2 nodes  n[1-2]\n"
            "    s1  2 nodes  n[5-6]\n"
            "    s2  1 node   n10\n"
            "\n"
            "order of ranks\n"
            "  n[1-2,5-6,10]\n"
            "\n"
            "edges of a ring that leave  given  alphabetical  ordered\n"
            "leaf switches               5      4             3\n");
}

TEST(DrawNetwork, SaysWhyTheOrderIsTheGivenOne) {
  EXPECT_EQ(draw_network(tree(), order_nodes(tree(), {"n6", "n1", "x"})),
            "topology.conf: 3 nodes, leaf switches: 2, switches above: 1\n"
            "\n"
            "  core  2 nodes\n"
            "    s1  1 node   n6\n"
            "    s0  1 node   n1\n"
            "\n"
            "order of ranks\n"
            "  n[6,1],x\n"
            "  as given: topology.conf does not have x\n"
            "\n"
            "edges of a ring that leave  given  alphabetical  ordered\n"
            "leaf switches               3      3             3\n");
}

TEST(DrawNetwork, IsJson) {
  const auto json = to_json(tree(), order_nodes(tree(), {"n5", "n1", "n6", "n2"}));
  EXPECT_EQ(json["order"], Json::parse(R"(["n1", "n2", "n5", "n6"])"));
  EXPECT_EQ(json["crossings"], Json::parse(R"({"given": 4, "alphabetical": 2, "ordered": 2})"));
  EXPECT_EQ(json["levels"], Json::parse(R"([{"name": "leaf switches", "units": 2},
                                            {"name": "switches above", "units": 1}])"));
  EXPECT_EQ(to_json({}, order_nodes({}, {}))["crossings"]["given"], Json(0));
}

}  // namespace
}  // namespace dllaunch
