#include "launcher/base/wrapped_lines.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(WrappedLines, FillEachLine) {
  EXPECT_THAT(wrapped_lines("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(wrapped_lines("  one   two ", 80), ElementsAre("one two"));
  EXPECT_THAT(wrapped_lines("a longest b", 3), ElementsAre("a", "longest", "b"));
  EXPECT_THAT(wrapped_lines("\xc3\xa4\xc3\xa4 \xc3\xb6\xc3\xb6", 5),
              ElementsAre("\xc3\xa4\xc3\xa4 \xc3\xb6\xc3\xb6"));
  EXPECT_THAT(wrapped_lines(" ", 5), IsEmpty());
}

/// Any text: no word is lost or split, no line is too long, and no line could take one word more.
TEST(WrappedLines, KeepEveryWord) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 60; ++i) text += random() % 4 == 0 ? ' ' : 'a';
    const std::size_t width = 1 + random() % 20;
    const auto lines = wrapped_lines(text, width);
    std::string joined;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      EXPECT_TRUE(lines[i].size() <= width || lines[i].find(' ') == std::string::npos) << text;
      const std::string first = lines[i].substr(0, lines[i].find(' '));
      if (i > 0) {
        EXPECT_GT(lines[i - 1].size() + 1 + first.size(), width) << text;
      }
      joined += (joined.empty() ? "" : " ") + lines[i];
    }
    std::string words;
    for (const auto& line : wrapped_lines(text, 1)) words += (words.empty() ? "" : " ") + line;
    EXPECT_EQ(joined, words);
    EXPECT_EQ(std::count(words.begin(), words.end(), 'a'),
              std::count(text.begin(), text.end(), 'a'));
  }
}

}  // namespace
}  // namespace dllaunch
