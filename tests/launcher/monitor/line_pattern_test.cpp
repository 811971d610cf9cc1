#include "launcher/monitor/line_pattern.hpp"

#include <gtest/gtest.h>

#include <random>

namespace dllaunch {
namespace {

TEST(LinePattern, MatchesAsGrepDoes) {
  const auto pattern = LinePattern::compile("loss (nan|inf)$");
  ASSERT_TRUE(pattern);
  EXPECT_TRUE(pattern->matches("step 3 loss nan"));
  EXPECT_FALSE(pattern->matches("loss 0.5"));
  EXPECT_TRUE(LinePattern::compile("")->matches("any line"));
  EXPECT_TRUE(LinePattern::compile("a*b")->matches(std::string(1 << 20, 'a') + "b"));
}

TEST(LinePattern, SaysWhatIsWrong) {
  const auto pattern = LinePattern::compile("loss (");
  ASSERT_FALSE(pattern);
  EXPECT_TRUE(pattern.error().what.starts_with("'loss (' is not a regular expression: "))
      << pattern.error().what;
}

/// Any expression: a pattern, or a reason.
TEST(LinePattern, TakesAnyExpression) {
  std::mt19937 random(11);
  constexpr std::string_view letters = "ab(|)[^]*+?{}1,\\.$\xff";
  for (int round = 0; round < 3000; ++round) {
    std::string text(random() % 8, ' ');
    for (char& letter : text) letter = letters[random() % letters.size()];
    const auto pattern = LinePattern::compile(text);
    if (pattern) {
      pattern->matches("abab\xff");
    } else {
      EXPECT_FALSE(pattern.error().what.empty());
    }
  }
}

}  // namespace
}  // namespace dllaunch
