#include "trainer/graph/name_patterns.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <regex>

namespace dllaunch {
namespace {

using testing::ElementsAre;

TEST(NamePatterns, MeanANameAndWhatIsBelowIt) {
  EXPECT_TRUE(pattern_matches("fc.weight", "fc.weight"));
  EXPECT_TRUE(pattern_matches("fc", "fc.weight"));
  EXPECT_TRUE(pattern_matches("layer1", "layer1.0.conv1.weight"));
  EXPECT_TRUE(pattern_matches("layer1.0", "layer1.0.conv1.weight"));
  EXPECT_FALSE(pattern_matches("layer1", "layer10.weight"));
  EXPECT_FALSE(pattern_matches("conv1", "layer1.0.conv1.weight"));
  EXPECT_FALSE(pattern_matches("fc.weight.x", "fc.weight"));
  EXPECT_FALSE(pattern_matches("", "fc.weight"));
}

TEST(NamePatterns, StandForOtherCharacters) {
  EXPECT_TRUE(pattern_matches("*", "fc.weight"));
  EXPECT_TRUE(pattern_matches("*.bias", "layer1.0.bn1.bias"));
  EXPECT_TRUE(pattern_matches("layer?", "layer4.2.conv3.weight"));
  EXPECT_TRUE(pattern_matches("*.bn?", "layer1.0.bn1.weight"));
  EXPECT_TRUE(pattern_matches("layer*.conv*.weight", "layer1.0.conv1.weight"));
  EXPECT_FALSE(pattern_matches("layer?", "layer10.weight"));
  EXPECT_FALSE(pattern_matches("*.bias", "fc.weight"));
}

TEST(NamePatterns, ALaterOneDecides) {
  const std::vector<std::string> but_fc = {"*", "!fc"};
  EXPECT_TRUE(is_selected(but_fc, "conv1.weight"));
  EXPECT_FALSE(is_selected(but_fc, "fc.bias"));
  const std::vector<std::string> back = {"!fc", "fc.bias"};
  EXPECT_TRUE(is_selected(back, "conv1.weight")) << "a list that begins with ! means the others";
  EXPECT_FALSE(is_selected(back, "fc.weight"));
  EXPECT_TRUE(is_selected(back, "fc.bias"));
  EXPECT_FALSE(is_selected({}, "fc.bias"));
}

TEST(NamePatterns, ThatMeanNothingAreFound) {
  const std::vector<std::string> names = {"conv1.weight", "fc.weight"};
  const std::vector<std::string> patterns = {"fc", "layr1", "!conv1", "!head"};
  EXPECT_THAT(unmatched_patterns(patterns, names), ElementsAre("layr1", "!head"));
}

/// Compared with std::regex on short names over a small alphabet.
TEST(NamePatterns, AreThoseOfARegularExpression) {
  std::mt19937 random(5);
  const auto word = [&](const std::string& letters) {
    std::string text(random() % 7, ' ');
    for (char& c : text) c = letters[random() % letters.size()];
    return text;
  };
  int meant = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::string pattern = word("ab.*?");
    const std::string name = word("ab.");
    std::string expression;
    for (const char c : pattern) {
      expression += c == '*' ? ".*" : c == '?' ? "." : c == '.' ? "\\." : std::string{c};
    }
    const bool expected = std::regex_match(name, std::regex("(" + expression + ")(\\..*)?"));
    ASSERT_EQ(pattern_matches(pattern, name), expected) << pattern << " and " << name;
    meant += expected ? 1 : 0;
  }
  EXPECT_GT(meant, 1000);
}

TEST(NamePatterns, ManyStarsTakeNoTime) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  EXPECT_FALSE(pattern_matches(pattern + "b", std::string(2000, 'a')));
}

TEST(NamePatterns, FirstPartsAreToldOnceAndAtMostADozen) {
  EXPECT_EQ(name_prefixes({"conv1.weight", "conv1.bias", "fc.weight"}), "conv1, fc");
  EXPECT_EQ(name_prefixes({}), "");
  std::vector<std::string> many;
  for (char c = 'a'; c <= 'z'; ++c) many.emplace_back(1, c);
  EXPECT_EQ(name_prefixes(many), "a, b, c, d, e, f, g, h, i, j, k, l, ...");
}

}  // namespace
}  // namespace dllaunch
