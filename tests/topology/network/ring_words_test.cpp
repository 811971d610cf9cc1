#include "topology/network/ring_words.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(RingWords, CountTheEdgesOfBothOrders) {
  Network network{.kind = "tree", .source = "a test", .levels = {"leaf switches", "spines"}};
  network.units = {{.name = "a", .parent = 2, .level = 0},
                   {.name = "b", .parent = 2, .level = 0},
                   {.name = "top", .parent = -1, .level = 1}};
  network.leaf_of = {{"n1", 0}, {"n2", 1}, {"n3", 0}, {"n4", 1}};
  const auto levels = level_crossings(network, {"n1", "n2", "n3", "n4"}, {"n1", "n3", "n2", "n4"});
  EXPECT_EQ(ring_words(levels, 4), "2 of 4 ring edges leave leaf switches (4 in Slurm's order)");
  EXPECT_EQ(ring_words({{"a", 4, 2}, {"b", 2, 2}}, 4),
            "2 of 4 ring edges leave a (4 in Slurm's order), 2 leave b (2 in Slurm's order)");
  EXPECT_EQ(ring_words({{"a", 0, 0}}, 4), "");
  EXPECT_TRUE(level_crossings({}, {"n1"}, {"n1"}).empty());
}

}  // namespace
}  // namespace dllaunch
