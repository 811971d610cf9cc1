#include "launcher/network/network_json.hpp"

#include <gtest/gtest.h>

#include "launcher/network/read_network.hpp"

namespace dllaunch {
namespace {

TEST(NetworkJson, WhatWasWrittenIsRead) {
  for (const char* text : {"SwitchName=s0 Nodes=n[1-3,7]\nSwitchName=s1 Nodes=n[10-12]\n"
                           "SwitchName=top Switches=s[0-1]\n",
                           "BlockName=b0 Nodes=n[1-4]\nBlockName=b1 Nodes=n[5-8]\nBlockSizes=4,8\n",
                           "- topology: r\n  ring:\n    rings:\n      - ring: r0\n        nodes: "
                           "n[1-5]\n"}) {
    const auto network = read_network(text, "a test");
    if (!network) continue;  // a format that this version does not read
    ASSERT_FALSE(network->units.empty()) << text;
    Network read;
    EXPECT_EQ(read_json(to_json(*network), read), "");
    EXPECT_EQ(read, *network) << to_json(*network).dump();
  }
}

TEST(NetworkJson, AContradictionIsRefused) {
  for (const char* text : {R"({"levels": ["a"], "units": [{"name": "x", "parent": 7}]})",
                           R"({"levels": [], "units": [{"name": "x", "nodes": "n1"}]})",
                           R"({"levels": ["a"], "units": [{"name": "x", "parent": 0}]})",
                           R"({"levels": ["a"], "units": [{"name": "x", "nodes": "n[1-"}]})",
                           R"({"levels": ["a"], "units": 3})", R"({"units": [{}]})"}) {
    Network network{.kind = "tree"};
    EXPECT_NE(read_json(Json::parse(text), network), "") << text;
    EXPECT_EQ(network.kind, "tree");
  }
}

}  // namespace
}  // namespace dllaunch
