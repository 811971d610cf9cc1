#include "launcher/os/ancestors.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace dllaunch {
namespace {

TEST(Ancestors, AProcessNameMayHoldAnything) {
  const auto stat =
      parse_stat("17 (a) R 5 (b) S 4 17 17 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 123456 1000 2\n");
  EXPECT_EQ(stat.name, "a) R 5 (b");
  EXPECT_EQ(stat.parent, 4);
  EXPECT_EQ(stat.started, "123456");
}

TEST(Ancestors, WhatIsNoStatHasNoName) {
  for (const char* text : {"", "17", "17 (", ")(", "17 )x("}) {
    EXPECT_EQ(parse_stat(text).name, "") << text;
  }
  EXPECT_EQ(parse_stat("17 (x)").parent, 0);
}

TEST(Ancestors, OurParentIsTheFirst) {
  const auto names = ancestor_names();
  ASSERT_FALSE(names.empty());
  EXPECT_FALSE(names.front().empty());
  EXPECT_EQ(parent_identity(), parent_identity());
  EXPECT_EQ(parent_identity().find(std::to_string(getppid()) + "-"), 0u);
  EXPECT_NE(parent_identity().back(), '-');
}

}  // namespace
}  // namespace dllaunch
