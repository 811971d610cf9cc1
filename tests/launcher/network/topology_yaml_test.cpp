#include "launcher/network/topology_yaml.hpp"

#include <gtest/gtest.h>

#include "tests/launcher/network/drawn_network.hpp"

namespace dllaunch {
namespace {

using Names = std::vector<std::string>;

Network network(std::string_view text, const std::string& wanted = "") {
  const auto document = parse_yaml(text, 0);
  EXPECT_FALSE(document.problem.has_value());
  EXPECT_TRUE(is_topology_yaml(*document.root));
  auto read = read_topology_yaml(*document.root, "topology.yaml", wanted);
  EXPECT_TRUE(is_sound(read));
  return read;
}

constexpr std::string_view several = R"(---
- topology: blocks
  cluster_default: false
  block:
    block_sizes: [2, 4]
    blocks:
      - block: b1
        nodes: n[1-2]
      - block: b2
        nodes: n[3-4]
- topology: switches
  cluster_default: true
  tree:
    switches:
      - switch: root
        children: s[1-2]
      - switch: s1
        nodes: n[01-02]
      - switch: s2
        nodes: n[03-04]
- topology: none
  flat: true
)";

TEST(TopologyYaml, ReadsTheDefaultOrTheOneWanted) {
  EXPECT_EQ(drawn(network(several)), "tree: root(s1=n[01-02] s2=n[03-04])");
  EXPECT_EQ(network(several).source, "topology.yaml, switches");
  EXPECT_EQ(drawn(network(several, "blocks")), "block: b[1-2](b1=n[1-2] b2=n[3-4])");
  EXPECT_EQ(drawn(network(several, "none")), ":");
  EXPECT_EQ(network(several, "none").warnings, Names());
  EXPECT_EQ(network(several, "else").warnings, Names{"it has no topology 'else'"});
}

TEST(TopologyYaml, FollowsRings) {
  EXPECT_EQ(ordered(network(
                "- topology: t\n  ring:\n    rings:\n      - ring: r0\n        nodes: n[5,1-2]\n"
                "      - ring: r1\n        nodes: n[3-4]\n")),
            "n[5,1-4]");
}

TEST(TopologyYaml, WalksTori) {
  const auto torus = network(
      "- topology: t\n  torus3d:\n    toruses:\n      - name: t0\n"
      "        dims: {x: 3, y: 2, z: 2}\n        nodes: n[0-11]\n");
  EXPECT_EQ(torus.warnings, Names());
  EXPECT_EQ(torus.levels, (Names{"rows", "planes", "tori"}));
  // Each node is a neighbour of the next: rows 0-2, back 5-3, up a plane to 9-11, back 8-6.
  EXPECT_EQ(ordered(torus), "n[0-2,5,4,3,9-11,8,7,6]");
  const auto regions = network(
      "- topology: t\n  torus3d:\n    toruses:\n      - name: t0\n        dims: {x: 2, y: 2, z: "
      "1}\n"
      "        regions:\n"
      "          - {anchor: {x: 0, y: 1, z: 0}, dims: {x: 2, y: 1, z: 1}, nodes: 'a[1-2]'}\n"
      "          - {anchor: {x: 0, y: 0, z: 0}, dims: {x: 2, y: 1, z: 1}, nodes: 'b[1-2]'}\n");
  EXPECT_EQ(ordered(regions), "b[1-2],a[2,1]");
}

TEST(TopologyYaml, SaysWhatIsWrong) {
  const auto torus = [](const std::string& dims) {
    return network("- topology: t\n  torus3d:\n    toruses:\n      - name: t0\n        dims: " +
                   dims + "\n        nodes: n[0-11]\n")
        .warnings.front();
  };
  const auto wrong = "t0: its nodes are not as many as its dims";
  for (const std::string dims :
       {"{x: 3, y: 2}", "{x: 65535, y: 65535, z: 65535}", "{x: -3, y: -2, z: 2}", "3", "{x: [3]}"})
    EXPECT_EQ(torus(dims), wrong) << dims;
  EXPECT_EQ(
      network("- topology: t\n  tree: {switches: [1, {switch: a, nodes: [n1]}]}\n").leaf_of.size(),
      0u);
}

}  // namespace
}  // namespace dllaunch
