#include "launcher/network/profile_network.hpp"

#include <gtest/gtest.h>

#include "tests/launcher/network/drawn_network.hpp"

namespace dllaunch {
namespace {

TEST(ProfileNetwork, DescribesADragonfly) {
  const auto network = network_of_profile(
      Json::parse(R"({"kind": "dragonfly", "levels": ["switches", "groups"], "units": [
        {"name": "g0", "units": "x[0-1]", "nodes": ""}, {"name": "x0", "nodes": "nid[1-2]"},
        {"name": "x1", "nodes": "nid[3-4]"}, {"name": "g1", "nodes": "nid[5-6]"}]})"),
      "the profile of mine");
  EXPECT_EQ(drawn(network), "dragonfly: g0(x0=nid[1-2] x1=nid[3-4]) g1=nid[5-6]");
  EXPECT_EQ(network.levels, (std::vector<std::string>{"switches", "groups"}));
  EXPECT_TRUE(is_sound(network));
}

TEST(ProfileNetwork, IsNoneWithoutUnits) {
  EXPECT_EQ(network_of_profile(nullptr, "x"), Network());
  EXPECT_EQ(network_of_profile(Json::parse(R"({"kind": "tree", "units": []})"), "x"), Network());
}

}  // namespace
}  // namespace dllaunch
