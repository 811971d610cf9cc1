#include "topology/network/assemble_network.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

using Names = std::vector<std::string>;

Network assembled(const std::vector<DescribedUnit>& units) {
  return assemble_network({.kind = "tree", .source = "here", .levels = {"leaf switches"}}, units);
}

TEST(AssembleNetwork, JoinsUnitsAndFindsLevels) {
  const auto network = assembled({{"s1", {}, {"a", "b"}},
                                  {"core", {"pod", "s3"}, {}},
                                  {"s2", {}, {"c"}},
                                  {"pod", {"s1", "s2"}, {}},
                                  {"s3", {}, {"d"}}});
  EXPECT_TRUE(is_sound(network));
  EXPECT_EQ(network.warnings, Names());
  EXPECT_EQ(network.levels, (Names{"leaf switches", "units of level 1", "units of level 2"}));
  EXPECT_EQ(network.units,
            (std::vector<NetworkUnit>{
                {"s1", 3, 0}, {"core", -1, 2}, {"s2", 3, 0}, {"pod", 1, 1}, {"s3", 1, 0}}));
  EXPECT_EQ(network.leaf_of.at("d"), 4);
}

TEST(AssembleNetwork, SaysWhatCannotBeTrue) {
  const auto network = assembled({{"s1", {}, {"a", "b"}},
                                  {"s2", {}, {"b", "c", "d"}},
                                  {"s2", {}, {"e"}},
                                  {"core", {"s1", "s2", "s9"}, {}},
                                  {"other", {"s1"}, {}},
                                  {"x", {"y"}, {}},
                                  {"y", {"x"}, {"f"}},
                                  {"me", {"me"}, {"g"}}});
  EXPECT_TRUE(is_sound(network));
  EXPECT_EQ(network.warnings,
            (Names{"s2 is described more than once: their lines are joined",
                   "s9 is part of a larger unit, but not described",
                   "s1 is part of two larger units: the first counts",
                   "x and me are in a loop: the line that closes it is left out",
                   "b is on two leaves: the first counts",
                   "core, other, x and 1 other are not joined by a unit above them"}));
  EXPECT_EQ(network.units[static_cast<std::size_t>(network.leaf_of.at("b"))].name, "s1");
  EXPECT_EQ(network.units[static_cast<std::size_t>(network.leaf_of.at("e"))].name, "s2");
}

TEST(AssembleNetwork, IsNoNetworkWithoutNodes) {
  EXPECT_EQ(assembled({}).warnings, Names{"the description is ignored: it has no nodes"});
  EXPECT_TRUE(assembled({{"s1", {}, {}}}).units.empty());
}

TEST(AssembleNetwork, RefusesWhatIsTooDeep) {
  for (const bool loops : {false, true}) {
    std::vector<DescribedUnit> chain;
    for (int i = 0; i < 100'000; ++i)
      chain.push_back({"u" + std::to_string(i), {"u" + std::to_string(i + 1)}, {}});
    chain.push_back({"u100000", {}, {"a"}});
    if (loops) chain.back().children = {"u0"};
    const auto network = assembled(chain);
    EXPECT_TRUE(network.units.empty() && network.leaf_of.empty() && network.kind.empty());
    ASSERT_FALSE(network.warnings.empty());
    EXPECT_EQ(network.warnings.back(), "the description is ignored: it is deeper than any network");
  }
}

TEST(AssembleNetwork, NamesAFew) {
  EXPECT_EQ(some_of({}), "");
  EXPECT_EQ(some_of({"a"}), "a");
  EXPECT_EQ(some_of({"a", "b"}), "a and b");
  EXPECT_EQ(some_of({"a", "b", "c"}), "a, b and c");
  EXPECT_EQ(some_of({"a", "b", "c", "d"}), "a, b, c and 1 other");
  EXPECT_EQ(some_of({"a", "b", "c", "d", "e"}), "a, b, c and 2 others");
}

}  // namespace
}  // namespace dllaunch
