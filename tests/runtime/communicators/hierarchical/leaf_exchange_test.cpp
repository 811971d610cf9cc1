// communicators_test.cpp exchanges through leaves on real ranks.
#include "runtime/communicators/hierarchical/leaf_exchange.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace dllaunch {
namespace {

TEST(NodeLeaves, EveryPartHasItsOwnNodeAsProxyAndOthersInTurn) {
  const NodeLeaves leaves({3, 1, 4});
  ASSERT_EQ(leaves.leaves(), 3);
  for (int leaf = 0; leaf < leaves.leaves(); ++leaf) {
    std::vector<int> parts(8);
    for (int part = 0; part < 8; ++part) {
      const int proxy = leaves.proxy(leaf, part);
      EXPECT_EQ(leaves.leaf_of(proxy), leaf);
      if (leaves.leaf_of(part) == leaf) {
        EXPECT_EQ(proxy, part);
      }
      ++parts[static_cast<std::size_t>(proxy)];
    }
    const auto begin = parts.begin() + leaves.first(leaf);
    const auto [least, most] = std::minmax_element(begin, begin + leaves.size(leaf));
    EXPECT_LE(*most - *least, 2) << "leaf " << leaf;
  }
}

}  // namespace
}  // namespace dllaunch
