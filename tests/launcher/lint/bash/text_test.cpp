#include "launcher/lint/bash/text.hpp"

#include <gtest/gtest.h>

namespace dllaunch::lint {
namespace {

TEST(LintText, KnowsWhereEveryByteWasWritten) {
  Text text("mask_cpu:", 100);
  text.add("fe", 200);
  text.add("00", 202);
  EXPECT_EQ(text.bytes(), "mask_cpu:fe00");
  EXPECT_EQ(text.source(0), 100u);
  EXPECT_EQ(text.source(8), 108u);
  EXPECT_EQ(text.source(9), 200u);
  EXPECT_EQ(text.source(12), 203u);
  EXPECT_EQ(text.part(8, 2).source(1), 200u);
  EXPECT_FALSE(text.is_verbatim());
  EXPECT_TRUE(text.part(9).is_verbatim());
}

TEST(LintText, MarksWhatIsUnknownAndWhatIsMissing) {
  Text text("a", 1);
  text.add_hole("X", 5);
  text.add_gap("y", 7);
  text.add("b", 9);
  EXPECT_FALSE(text.known());
  EXPECT_TRUE(text.has_gap());
  ASSERT_EQ(text.marks().size(), 2u);
  EXPECT_EQ(text.part(1, 1).marks().size(), 2u);  // the gap stands at its border
  EXPECT_EQ(text.part(0, 1).marks().size(), 0u);
  EXPECT_EQ(text.part(2).marks()[0].name, "y");
}

TEST(LintText, AppendsItself) {
  Text text("ab", 3);
  text.append(text);
  EXPECT_EQ(text.bytes(), "abab");
  EXPECT_EQ(text.source(3), 4u);
}

TEST(LintText, BecomesAHoleWhereItGrowsWithoutEnd) {
  Text text("0123456789", 7);
  for (int i = 0; i < 40; ++i) text.append(text);
  EXPECT_LE(text.bytes().size(), Text::most_bytes);
  EXPECT_FALSE(text.known());
}

TEST(LintText, ReadsNumbers) {
  EXPECT_EQ(number_of("007"), 7);
  EXPECT_EQ(number_of(""), -1);
  EXPECT_EQ(number_of("-1"), -1);
  EXPECT_EQ(number_of("1x"), -1);
  EXPECT_EQ(number_of("9999999999"), -1);
}

}  // namespace
}  // namespace dllaunch::lint
