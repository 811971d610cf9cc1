#include "topology/discovery/network_of_node.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(NetworkOfNode, HasAName) {
  const std::string name = network_of_node();
  EXPECT_TRUE(name.starts_with("infiniband-") || name.starts_with("ethernet-")) << name;
}

}  // namespace
}  // namespace dllaunch
