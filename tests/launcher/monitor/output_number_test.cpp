#include "launcher/monitor/output_number.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dllaunch {
namespace {

using testing::HasSubstr;

std::optional<std::string> number(const std::string& text, const std::string& line) {
  auto compiled = OutputNumber::compile(text);
  EXPECT_TRUE(compiled) << text;
  return compiled ? compiled->in(line) : std::nullopt;
}

TEST(OutputNumber, OfAPatternIsItsGroup) {
  EXPECT_EQ(number("([0-9.]+) img/s", "now 12.5 img/s"), "12.5");
  EXPECT_EQ(number("([0-9.]+) img/s", "nothing"), std::nullopt);
}

TEST(OutputNumber, OfAPathIsInALineOfJson) {
  const std::string line =
      R"({"speed": {"mean": 12.5}, "losses": [3, 2, 1], "text": "7", "o": {}})";
  EXPECT_EQ(number("$.speed.mean", line), "12.5");
  EXPECT_EQ(number("$.losses[0]", line), "3");
  EXPECT_EQ(number("$.losses[-1]", line), "1");
  EXPECT_EQ(number("$.text", line), "7");
  for (const char* none :
       {"$.losses[3]", "$.losses[-4]", "$.speed.max", "$.speed[0]", "$.o", "$.a.b"})
    EXPECT_EQ(number(none, line), std::nullopt) << none;
  for (const char* other : {"", "no JSON", "[1, 2]", "{\"speed\": ", "{}"})
    EXPECT_EQ(number("$.speed.mean", other), std::nullopt) << other;
}

TEST(OutputNumber, SaysWhatIsNoPath) {
  for (const char* text : {"$.", "$.a.", "$.a[", "$.a[x]", "$.a[1", "$.a[1]b"}) {
    const auto compiled = OutputNumber::compile(text);
    ASSERT_FALSE(compiled) << text;
    EXPECT_THAT(compiled.error().what, HasSubstr("is no path into JSON"));
  }
  EXPECT_FALSE(OutputNumber::compile("("));
}

}  // namespace
}  // namespace dllaunch
