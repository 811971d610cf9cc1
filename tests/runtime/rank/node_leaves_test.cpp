#include "runtime/rank/node_leaves.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace dllaunch {
namespace {

std::vector<int> leaves_of(const std::string& text, int nodes) {
  return node_leaves(
      [&](const std::string& name) {
        return name == node_leaves_variable ? std::optional(text) : std::nullopt;
      },
      nodes);
}

TEST(NodeLeaves, AreAsTheLauncherWroteThem) {
  const std::vector<int> leaves = {2, 1, 3};
  EXPECT_EQ(to_text(leaves), "2,1,3");
  EXPECT_EQ(leaves_of(to_text(leaves), 6), leaves);
}

// All ranks read the same text: what does not fit is ignored by all of them.
TEST(NodeLeaves, AreIgnoredWhereTheyDoNotFit) {
  for (const char* text : {"", "6", "2,1", "2,1,4", "2,-1,5", "0,6", "a,b", "3,,3", "3,3,", "1e9,1",
                           "99999999999999999999,1", " 3,3"}) {
    const bool trailing = std::string_view(text) == "3,3,";
    EXPECT_EQ(leaves_of(text, 6).empty(), !trailing) << text;
  }
  EXPECT_TRUE(node_leaves([](const std::string&) { return std::nullopt; }, 2).empty());
}

}  // namespace
}  // namespace dllaunch
