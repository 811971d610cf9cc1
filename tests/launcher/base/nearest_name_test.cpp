#include "launcher/base/nearest_name.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace dllaunch {
namespace {

const std::vector<std::string> keys = {"nodes", "gpus_per_node", "ranks_per_node", "time", "qos"};

TEST(NearestName, FindsTheTypo) {
  EXPECT_EQ(nearest_name("nodez", keys), "nodes");
  EXPECT_EQ(nearest_name("ndoes", keys), "nodes");
  EXPECT_EQ(nearest_name("node", keys), "nodes");
  EXPECT_EQ(nearest_name("NODES", keys), "nodes");
  EXPECT_EQ(nearest_name("gpus-per-node", keys), "gpus_per_node");
  EXPECT_EQ(nearest_name("qso", keys), "qos");
}

TEST(NearestName, IsSilentWhereNothingIsNear) {
  EXPECT_EQ(nearest_name("banana", keys), std::nullopt);
  EXPECT_EQ(nearest_name("x", keys), std::nullopt);
  EXPECT_EQ(nearest_name("", keys), std::nullopt);
  EXPECT_EQ(nearest_name(std::string(100'000, 'n'), keys), std::nullopt);
}

}  // namespace
}  // namespace dllaunch
