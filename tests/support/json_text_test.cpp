// JSON text equals what nlohmann/json reads and writes, byte for byte.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <bit>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "support/json.hpp"
#include "tests/topology/discovery/damage.hpp"

namespace dllaunch {
namespace {

using Theirs = nlohmann::ordered_json;
using Handler = Json::error_handler_t;

Theirs::error_handler_t theirs(Handler handler) {
  return handler == Handler::strict    ? Theirs::error_handler_t::strict
         : handler == Handler::replace ? Theirs::error_handler_t::replace
                                       : Theirs::error_handler_t::ignore;
}

/// What `call` returns or throws.
template <typename Call>
std::string outcome(Call call) {
  try {
    return call();
  } catch (const std::exception& problem) {
    return std::string("throws ") + problem.what();
  }
}

/// Checks that both are written alike with every option.
void expect_written_alike(const Json& mine, const Theirs& other) {
  for (const int indent : {-1, 0, 1, 2}) {
    for (const bool ensure_ascii : {false, true}) {
      for (const Handler handler : {Handler::strict, Handler::replace, Handler::ignore}) {
        EXPECT_EQ(outcome([&] { return mine.dump(indent, ' ', ensure_ascii, handler); }),
                  outcome([&] { return other.dump(indent, ' ', ensure_ascii, theirs(handler)); }));
      }
    }
  }
}

/// Checks that both parse alike, or throw the same message, and are written alike.
void expect_read_alike(const std::string& text) {
  const Json mine = Json::parse(text, nullptr, false);
  const Theirs other = Theirs::parse(text, nullptr, false);
  EXPECT_EQ(Json::accept(text), Theirs::accept(text));
  ASSERT_EQ(mine.is_discarded(), other.is_discarded()) << text;
  if (mine.is_discarded()) {
    EXPECT_EQ(outcome([&] { return Json::parse(text).dump(); }),
              outcome([&] { return Theirs::parse(text).dump(); }));
    std::string twice;
    EXPECT_TRUE(Json::parse_noting_repeats(text, twice).is_discarded());
  } else {
    expect_written_alike(mine, other);
  }
}

/// Strings with escapes, with invalid UTF-8, and plain ones.
std::string random_text(Random& random) {
  static const std::vector<std::string> pieces = {"a",
                                                  "key",
                                                  "/scratch/run",
                                                  "\n",
                                                  "\t",
                                                  "\"",
                                                  "\\",
                                                  "/",
                                                  "\x01",
                                                  "\b",
                                                  "\f",
                                                  "\r",
                                                  "\x1f",
                                                  "\x7f",
                                                  "é",
                                                  "漢字",
                                                  "🙂",
                                                  "\xff",
                                                  "\xc3",
                                                  "\xe2\x82",
                                                  "\xed\xa0\x80",
                                                  "\xf4\x90\x80\x80",
                                                  "\xc0\xaf",
                                                  " ",
                                                  std::string(1, '\0')};
  std::string text;
  for (int count = random.below(6); count > 0; --count)
    text += pieces[static_cast<std::size_t>(random.below(static_cast<int>(pieces.size())))];
  return text;
}

double random_real(Random& random) {
  const auto bits = [&] { return static_cast<std::uint64_t>(random.below(1 << 16)); };
  if (random.one_in(2)) return static_cast<double>(random.below(1000000)) / 1000;
  return std::bit_cast<double>(bits() << 48 | bits() << 32 | bits() << 16 | bits());
}

/// Builds the same tree twice.
void grow(Json& mine, Theirs& other, Random& random, int depth) {
  const auto set = [&](const auto& value) {
    mine = value;
    other = value;
  };
  switch (random.below(depth > 0 ? 9 : 7)) {
    case 0:
      return set(nullptr);
    case 1:
      return set(random.one_in(2));
    case 2:
      return set(random.below(2000) - 1000);
    case 3:
      return set(static_cast<std::uint64_t>(random.below(1 << 30)) << 34);
    case 4:
      return set(random_real(random));
    case 5:
    case 6:
      return set(random_text(random));
    case 7:
      mine = Json::array();
      other = Theirs::array();
      for (int count = random.below(5); count > 0; --count) {
        mine.push_back(nullptr);
        other.push_back(nullptr);
        grow(mine.back(), other.back(), random, depth - 1);
      }
      return;
    default:
      mine = Json::object();
      other = Theirs::object();
      for (int count = random.below(5); count > 0; --count) {
        const std::string key = random_text(random);
        grow(mine[key], other[key], random, depth - 1);
      }
  }
}

TEST(JsonText, AnyTreeIsWrittenAsNlohmannWritesIt) {
  Random random(20261124);
  for (int round = 0; round < 2000; ++round) {
    Json mine;
    Theirs other;
    grow(mine, other, random, 4);
    expect_written_alike(mine, other);
    const std::string text = other.dump(1, ' ', false, Theirs::error_handler_t::replace);
    expect_read_alike(text);
    for (int more = 0; more < 3; ++more) expect_read_alike(damaged(text, random));
  }
}

TEST(JsonText, RealsHaveTheDigitsThatNlohmannGivesThem) {
  Random random(7);
  for (int round = 0; round < 200000; ++round) {
    const double value = random_real(random);
    ASSERT_EQ(Json(value).dump(), Theirs(value).dump());
  }
  for (const double value : {0.0, -0.0, 1.0, 1e15, 1e16, 5e-324, 1.7976931348623157e308, 0.1,
                             std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    EXPECT_EQ(Json(value).dump(), Theirs(value).dump());
  }
}

TEST(JsonText, WhatIsNoJsonIsRefusedInTheSameWords) {
  for (const std::string text : {"",
                                 " ",
                                 "nul",
                                 "{",
                                 "[1,",
                                 "[1,]",
                                 "{\"a\"}",
                                 "{\"a\":}",
                                 "{\"a\":1,}",
                                 "{a:1}",
                                 "1 2",
                                 "[1] x",
                                 "01",
                                 "-",
                                 "1.",
                                 "1e",
                                 "1e999",
                                 "-1e999",
                                 "\"",
                                 "\"\\x\"",
                                 "\"\\ud800\"",
                                 "\"\\u12\"",
                                 "\"\n\"",
                                 "\"\xff\"",
                                 "\xef\xbb\xbf{}",
                                 "\xef\xbb{}",
                                 "// no\n1",
                                 "'a'",
                                 "18446744073709551616",
                                 "-9223372036854775809",
                                 "{\"a\":1 \"b\":2}",
                                 "[\n\n  tru\n]"}) {
    expect_read_alike(text);
  }
  const std::string zero = std::string("[1") + '\0' + "]";
  expect_read_alike(zero);
}

TEST(JsonText, TheLastOfTwoEqualKeysCountsAtThePlaceOfTheFirst) {
  const std::string text = R"({"a": [1], "b": {"c": 1, "c": {"d": 2}}, "a": {"e": 3}})";
  expect_read_alike(text);
  std::string twice;
  EXPECT_EQ(Json::parse_noting_repeats(text, twice).dump(), Theirs::parse(text).dump());
  EXPECT_EQ(twice, "a");
  twice = "";
  EXPECT_EQ(Json::parse_noting_repeats(R"({"a": {"a": 1}, "b": [{"a": 1}]})", twice).size(), 2u);
  EXPECT_EQ(twice, "");
}

TEST(JsonText, OneValueAfterTheOtherIsRead) {
  const std::string text = R"({"a": 1} [2]x)";
  std::size_t length = 0;
  EXPECT_EQ(Json::parse_first(text, length).dump(), R"({"a":1})");
  EXPECT_EQ(length, 8u);
  EXPECT_EQ(Json::parse_first(text.substr(8), length).dump(), "[2]");
  EXPECT_EQ(length, 4u);
  EXPECT_EQ(Json::parse_first("12", length), 12);
  EXPECT_EQ(length, 2u);
  for (const std::string bad : {R"({"a": 1)", "[2, x", "", "{\n\"a\"\n}"}) {
    EXPECT_EQ(outcome([&] { return Json::parse_first(bad, length).dump(); }), outcome([&] {
                std::istringstream stream(bad);
                Theirs value;
                stream >> value;
                return value.dump();
              }));
  }
}

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(JsonText, RefusesDeepNestingByItsLimit) {
  EXPECT_TRUE(Json::parse(nested(64), nullptr, false).is_array());
  for (const std::size_t depth : {65, 200'000}) {
    EXPECT_TRUE(Json::parse(nested(depth), nullptr, false).is_discarded());
    EXPECT_EQ(outcome([&] { return Json::parse(nested(depth)).dump(); }),
              "throws [json.exception.other_error.501] nested deeper than 64 levels");
  }
}

TEST(JsonText, RefusesMoreValuesThanItsLimitUnlessTheTextIsLonger) {
  const auto zeros = [](std::size_t count, const std::string& blanks) {
    std::string text = "[0";
    for (std::size_t i = 1; i < count; ++i) text += "," + blanks + "0";
    return text + "]";
  };
  EXPECT_EQ(Json::parse(zeros(499'999, "")).size(), 499'999u);
  EXPECT_EQ(outcome([&] { return Json::parse(zeros(500'000, "")).dump(); }),
            "throws [json.exception.other_error.501] more than 500000 values");
  EXPECT_EQ(Json::parse(zeros(600'000, std::string(20, ' '))).size(), 600'000u);
}

TEST(JsonText, OfManyKeysThatRepeatTheLastValueCounts) {
  Random random(3);
  for (const int keys : {5, 31, 32, 33, 34, 100, 1000}) {
    std::string text = "{";
    for (int i = 0; i < 2 * keys; ++i)
      text += (i > 0 ? ",\"k" : "\"k") + std::to_string(random.below(keys)) + "\":[" +
              std::to_string(i) + "]";
    text += "}";
    expect_read_alike(text);
    std::string twice;
    const Json once = Json::parse_noting_repeats(text, twice);
    EXPECT_TRUE(once.contains(twice));
    for (const auto& [key, value] : once.items()) EXPECT_EQ(&once.at(key), &value);
  }
}

TEST(JsonText, AStreamGetsOneLine) {
  std::ostringstream out;
  out << Json{{"a", {1, "x"}}};
  EXPECT_EQ(out.str(), R"({"a":[1,"x"]})");
}

}  // namespace
}  // namespace dllaunch
