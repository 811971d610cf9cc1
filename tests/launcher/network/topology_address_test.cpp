#include "launcher/network/topology_address.hpp"

#include <gtest/gtest.h>

#include "tests/launcher/network/drawn_network.hpp"

namespace dllaunch {
namespace {

using Names = std::vector<std::string>;

Network network(const std::vector<TopologyAddress>& addresses) {
  auto read = network_of_addresses(addresses, "SLURM_TOPOLOGY_ADDR");
  EXPECT_TRUE(is_sound(read));
  return read;
}

Network tree(const Names& addresses) {
  std::vector<TopologyAddress> all;
  for (const auto& address : addresses) all.push_back({address, "switch.switch.node"});
  return network(all);
}

TEST(TopologyAddress, ReadsATree) {
  EXPECT_EQ(drawn(tree({"s0.s4.n1", "s0.s5.n3", "s0.s4.n2"})), "tree: s0(s4=n[1-2] s5=n3)");
  EXPECT_EQ(drawn(tree({".s4.n1", ".s5.n3"})), "tree: s4=n1 s5=n3") << "no switch joins them";
  EXPECT_EQ(drawn(tree({"s[0-1].s4.n1", "s[0-1].s5.n2"})), "tree: s[0-1](s4=n1 s5=n2)");
  EXPECT_EQ(drawn(tree({"s0.s4.n1.cluster"})), "tree: s0(s4=n1.cluster)");
}

TEST(TopologyAddress, ReadsOtherPatterns) {
  EXPECT_EQ(drawn(network({{"b8.n1", "block.node"}, {"b9.n2", "block.node"}})),
            "block: b8=n1 b9=n2");
  EXPECT_EQ(network({{"n1", "node"}, {"n2", "node"}}).leaf_of.size(), 0u) << "no topology";
  const std::string torus = "torus:x:y:z.node";
  const auto walk = network(
      {{"t:1:1:0.d", torus}, {"t:0:0:0.a", torus}, {"t:0:1:0.c", torus}, {"t:1:0:0.b", torus}});
  EXPECT_EQ(ordered(walk), "a,b,d,c");
}

TEST(TopologyAddress, SaysWhatDoesNotFit) {
  const auto wrong = tree({"s0.n1", "", "s0.s1.", "..", "s0.s4.n2"});
  EXPECT_EQ(drawn(wrong), "tree: s0(s4=n2)");
  EXPECT_EQ(wrong.warnings,
            Names{"SLURM_TOPOLOGY_ADDR s0.n1, , s0.s1. and 1 other does not fit its pattern"});
  for (const std::string address : {"t:1:1.n1", "t:1:1:x.n1", "t:1:1:-1.n1", "t:1:1:99999999999.n1",
                                    ":1:1:1.n1", "t:1:1:1.", "n1"}) {
    EXPECT_TRUE(network({{address, "torus:x:y:z.node"}}).leaf_of.empty()) << address;
  }
}

TEST(TopologyAddress, ReadsTheEnvironmentOfAllNodes) {
  const auto addresses = parse_topology_addresses(
      "1: "
      "SLURM_TOPOLOGY_ADDR=s0.s5.n3\r\nHOME=/root\nSLURM_TOPOLOGY_ADDR_PATTERN=switch.switch.node\n"
      "SLURM_TOPOLOGY_ADDR=s0.s4.n1 \n");
  EXPECT_EQ(drawn(network(addresses)), "tree: s0(s4=n1 s5=n3)");
}

}  // namespace
}  // namespace dllaunch
