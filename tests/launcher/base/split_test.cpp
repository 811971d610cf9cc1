#include "launcher/base/split.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <iterator>
#include <ranges>
#include <string>

#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Split, LinesHaveNoEnds) {
  EXPECT_THAT(list_of_lines("a\n\nb"), ElementsAre("a", "", "b"));
  EXPECT_THAT(list_of_lines("a\n"), ElementsAre("a"));
  EXPECT_THAT(list_of_lines("\n"), ElementsAre(""));
  EXPECT_THAT(list_of_lines(""), IsEmpty());
}

TEST(Split, LinesAreFoundOneByOne) {
  const std::string_view text = "a\n\nb";
  std::string seen;
  for (const auto line : split_lines(text)) seen += "<" + std::string(line) + ">";
  EXPECT_EQ(seen, "<a><><b>");
  EXPECT_EQ(std::ranges::distance(split_lines("\n\n")), 2);
  EXPECT_EQ(std::ranges::distance(split_lines("")), 0);
  static_assert(std::forward_iterator<Lines::Iterator>);
}

TEST(Split, TheLastLineIsThatOfTheList) {
  for (const char* text : {"", "\n", "a", "a\n", "a\nb", "a\n\n"}) {
    const auto all = list_of_lines(text);
    EXPECT_EQ(last_line(text), all.empty() ? "" : all.back()) << text;
  }
}

TEST(Split, ANumberIsTheWholeText) {
  EXPECT_EQ(parse_number<int>("-17"), -17);
  EXPECT_EQ(parse_number<double>("0.5"), 0.5);
  for (const char* text : {"", " 1", "1 ", "1x", "x", "+1", "99999999999999999999"})
    EXPECT_FALSE(parse_number<std::int64_t>(text)) << text;
  EXPECT_FALSE(parse_number<std::size_t>("-1"));
}

TEST(SplitAt, HasAPartMoreThanSeparators) {
  EXPECT_EQ(split_at("a||b", '|'), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split_at("", '|'), (std::vector<std::string_view>{""}));
  EXPECT_EQ(split_at("a|", '|'), (std::vector<std::string_view>{"a", ""}));
}

}  // namespace
}  // namespace dllaunch
