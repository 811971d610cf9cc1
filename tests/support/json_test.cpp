#include "support/json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <array>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace dllaunch {
namespace {

using Theirs = nlohmann::ordered_json;

/// One value of each type, and numbers near their limits.
const std::vector<std::string> values = {"null",
                                         "true",
                                         "false",
                                         "0",
                                         "-1",
                                         "7",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "18446744073709551615",
                                         "0.0",
                                         "7.0",
                                         "-2.5",
                                         "1e300",
                                         R"("")",
                                         R"("text")",
                                         "[]",
                                         "[1]",
                                         R"([1, [2, "x"], {"a": null}])",
                                         "{}",
                                         R"({"a": 1})",
                                         R"({"b": [true], "a": {"c": "d"}})"};

/// What `call` throws, or "".
std::string thrown(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& problem) {
    return problem.what();
  }
  return "";
}

/// Checks that `ours` and `theirs` have the same effect and result, or throw the same message.
void expect_same(const std::string& text, const std::function<std::string(Json&)>& ours,
                 const std::function<std::string(Theirs&)>& theirs) {
  Json mine = Json::parse(text);
  Theirs other = Theirs::parse(text);
  std::string my_answer;
  std::string other_answer;
  EXPECT_EQ(thrown([&] { my_answer = ours(mine); }), thrown([&] { other_answer = theirs(other); }))
      << text;
  EXPECT_EQ(my_answer, other_answer) << text;
  EXPECT_EQ(mine.dump(), other.dump()) << text;
}

#define EXPECT_SAME(expression)                                                       \
  for (const std::string& text : values) {                                            \
    SCOPED_TRACE(#expression);                                                        \
    expect_same(                                                                      \
        text, [&]([[maybe_unused]] Json& json) -> std::string { return expression; }, \
        [&]([[maybe_unused]] Theirs& json) -> std::string { return expression; });    \
  }

TEST(Json, TellsItsTypeAsNlohmannDoes) {
  EXPECT_SAME(json.type_name());
  EXPECT_SAME(std::to_string(json.size()));
  const auto types = [](const auto& json) {
    return std::vector<bool>{
        json.is_null(),           json.is_boolean(),      json.is_number(),
        json.is_number_integer(), json.is_number_float(), json.is_number_unsigned(),
        json.is_string(),         json.is_array(),        json.is_object(),
        json.is_structured(),     json.is_discarded(),    json.empty(),
        json.contains("a"),       json.count("a") == 1,   json.find("a") == json.end()};
  };
  for (const std::string& text : values)
    EXPECT_EQ(types(Json::parse(text)), types(Theirs::parse(text))) << text;
}

TEST(Json, GivesValuesAsNlohmannDoes) {
  EXPECT_SAME(json.template get<std::string>());
  EXPECT_SAME(std::to_string(json.template get<bool>()));
  EXPECT_SAME(std::to_string(json.template get<std::int64_t>()));
  EXPECT_SAME(std::to_string(json.template get<std::uint64_t>()));
  EXPECT_SAME(std::to_string(json.template get<long long>()));
  EXPECT_SAME(std::to_string(json.template get<double>()));
  EXPECT_SAME(std::to_string(json.is_number_float() ? 0 : json.template get<int>()));
  EXPECT_SAME(std::to_string(json.template get<std::vector<int>>().size()));
  EXPECT_SAME(std::to_string(json.template get<std::vector<std::string>>().size()));
  EXPECT_SAME(std::to_string(json.template get<std::array<int, 3>>()[0]));
  EXPECT_SAME((std::to_string(json.template get<std::map<std::string, int>>().size())));
  EXPECT_SAME(json.value("a", "none"));
  EXPECT_SAME(std::to_string(json.value("a", 3)));
  EXPECT_SAME(std::to_string(json.value("z", true)));
}

TEST(Json, ChangesAsNlohmannDoes) {
  EXPECT_SAME((json["a"] = 5, ""));
  EXPECT_SAME((json["z"]["y"] = "deep", ""));
  EXPECT_SAME((json[3] = 5, ""));
  EXPECT_SAME((json.at("a") = 5, ""));
  EXPECT_SAME((json.at(0) = 5, ""));
  EXPECT_SAME((json.push_back(8), ""));
  EXPECT_SAME((json.emplace_back("x"), ""));
  EXPECT_SAME((json.emplace("a", 6), json.emplace("z", 7), ""));
  EXPECT_SAME(std::to_string(json.erase("a")));
  EXPECT_SAME((json.erase(0), ""));
  EXPECT_SAME((json.clear(), ""));
  EXPECT_SAME((json.update(json), ""));
  EXPECT_SAME((json.update({{"a", {1, 2}}, {"z", nullptr}}), ""));
  EXPECT_SAME((json = {{"a", 1}, {"b", {2, 3}}}, ""));
  EXPECT_SAME((json = {{"a", 1}, 2}, ""));
  EXPECT_SAME((json = {}, ""));
}

TEST(Json, ComparesAsNlohmannDoes) {
  for (const std::string& a : values) {
    for (const std::string& b : values) {
      EXPECT_EQ(Json::parse(a) == Json::parse(b), Theirs::parse(a) == Theirs::parse(b)) << a << b;
      const Json mine = Json::parse(a);
      if (mine.is_structured() && mine.type_name() == std::string(Json::parse(b).type_name()))
        continue;
      EXPECT_EQ(mine < Json::parse(b), Theirs::parse(a) < Theirs::parse(b)) << a << b;
      EXPECT_EQ(mine >= Json::parse(b), Theirs::parse(a) >= Theirs::parse(b)) << a << b;
    }
    EXPECT_EQ(Json::parse(a) == 7, Theirs::parse(a) == 7) << a;
    EXPECT_EQ(Json::parse(a) == 7u, Theirs::parse(a) == 7u) << a;
    EXPECT_EQ(Json::parse(a) == true, Theirs::parse(a) == true) << a;
    EXPECT_EQ(Json::parse(a) == "text", Theirs::parse(a) == "text") << a;
    EXPECT_EQ(Json::parse(a) == nullptr, Theirs::parse(a) == nullptr) << a;
    EXPECT_EQ(Json::parse(a) < 2, Theirs::parse(a) < 2) << a;
    EXPECT_EQ(Json::parse(a) >= 2, Theirs::parse(a) >= 2) << a;
    EXPECT_EQ(Json::parse(a) > 2.5, Theirs::parse(a) > 2.5) << a;
    EXPECT_EQ(Json::parse(a) <= 7u, Theirs::parse(a) <= 7u) << a;
  }
  const Json none = Json::parse("no", nullptr, false);
  EXPECT_FALSE(none == none);
  EXPECT_FALSE(none < 3);
}

TEST(Json, IsMadeOfWhatNlohmannIsMadeOf) {
  const auto made = []<typename Any>(Any) {
    const std::string name = "x";
    std::vector<Any> all = {
        Any(),
        Any(nullptr),
        Any(true),
        Any(short{-3}),
        Any(3u),
        Any(std::numeric_limits<std::uint64_t>::max()),
        Any(1.5f),
        Any("text"),
        Any(std::string_view("view")),
        Any(name),
        Any(std::vector<int>{1, 2}),
        Any(std::set<std::string>{"b", "a"}),
        Any(std::array<double, 2>{0.5, 1}),
        Any(std::map<std::string, int>{{"k", 1}}),
        Any{{"a", name}, {"b", {1, nullptr, "c"}}, {"b", 2}, {"e", {}}},
        Any{{"pairs", {{"a", 1}, {"b", 2}}}, {"lists", {{1, 2}, {3, 4}}}},
        Any{1, "two", {3}},
        Any::array(),
        Any::array({{"a", 1}}),
        Any::object(),
        Any::object({{"a", 1}}),
    };
    std::string text;
    for (const Any& one : all) text += one.dump() + " " + one.type_name() + "\n";
    return text;
  };
  EXPECT_EQ(made(Json()), made(Theirs()));
  EXPECT_EQ(thrown([] {
              Json value = Json::object({{"a", 1}, 2});
            }),
            thrown([] {
              Theirs value = Theirs::object({{"a", 1}, 2});
            }));
}

TEST(Json, IsWalkedAsNlohmannIs) {
  const auto walked = []<typename Any>(Any json) {
    std::string text;
    for (auto& value : json) text += value.dump() + ";";
    for (auto at = json.begin(); json.is_object() && at != json.end(); ++at) text += at.key();
    if (json.is_object())
      for (const auto& [key, value] : json.items()) text += key + value.dump();
    if (!json.is_null() && !json.empty()) text += json.front().dump() + json.back().dump();
    if (json.is_array()) std::reverse(json.begin(), json.end());
    return text + json.dump();
  };
  for (const std::string& text : values)
    EXPECT_EQ(walked(Json::parse(text)), walked(Theirs::parse(text))) << text;
}

TEST(Json, IsConvertedWhereANumberOrATextIsWanted) {
  const Json json = {{"n", 3}, {"x", 0.5}, {"t", "text"}, {"b", true}};
  const int n = json["n"];
  double x = 0;
  x = json["x"];
  std::string text;
  text = json["t"];
  const bool b = json["b"];
  EXPECT_EQ(n, 3);
  EXPECT_EQ(x, 0.5);
  EXPECT_EQ(text, "text");
  EXPECT_TRUE(b);
  EXPECT_EQ(thrown([&] { text = std::string(json["n"]); }),
            "[json.exception.type_error.302] type must be string, but is number");
  EXPECT_EQ(thrown([&] { (void)json["n"].text(); }),
            thrown([] { (void)Theirs(3).get_ref<const std::string&>(); }));
}

TEST(Json, FindsWhatLiesAtAPath) {
  const Json json = {{"a", {{"b", {{"c", 1}}}}}, {"list", {1, 2}}};
  EXPECT_EQ(*json.at_path({"a", "b", "c"}), 1);
  EXPECT_EQ(*json.at_path({}), json);
  EXPECT_EQ(json.at_path({"a", "z"}), nullptr);
  EXPECT_EQ(json.at_path({"a", "b", "c", "d"}), nullptr);
  EXPECT_EQ(json.at_path({"list", "0"}), nullptr);
}

TEST(Json, FindsEachOfManyKeysWhateverHappensToThem) {
  std::mt19937 random(1);
  Json json = Json::object();
  std::map<std::string, int> expected;
  const auto expect_same = [&] {
    ASSERT_EQ(json.size(), expected.size());
    for (const auto& [key, value] : expected) ASSERT_EQ(json.value(key, -1), value) << key;
    EXPECT_FALSE(json.contains("none"));
  };
  for (int round = 0; round < 400; ++round) {
    const auto key = std::to_string(random() % 300);
    switch (random() % 20) {
      case 0:
        expected.erase(key);
        json.erase(key);
        break;
      case 1:
        if (!expected.empty() && !expected.contains("renamed" + key)) {
          auto& first = json.items().front();
          auto node = expected.extract(first.key);
          node.key() = first.key = "renamed" + key;
          expected.insert(std::move(node));
        }
        break;
      case 2:
        if (!expected.contains(key)) json.items().push_back({key, round});
        expected.emplace(key, round);
        break;
      case 3:
        json = Json(json);
        break;
      default:
        json[key] = expected[key] = round;
    }
    expect_same();
  }
  json.clear();
  json["again"] = 1;
  EXPECT_EQ(json.size(), 1u);
}

TEST(Json, IsCopiedDeeplyAndMovedToNull) {
  Json json = {{"a", {1, 2}}, {"b", "text"}};
  const Json before = json;
  json["a"][0] = 9;
  EXPECT_EQ(before["a"][0], 1);
  const Json moved = std::move(json);
  EXPECT_TRUE(json.is_null());
  EXPECT_EQ(moved["a"][0], 9);
  json = moved["a"];
  json = json[1];
  EXPECT_EQ(json, 2);
}

TEST(Json, IsDestroyedHoweverDeepItIs) {
  Json json;
  for (int depth = 0; depth < 300000; ++depth) {
    Json around = depth % 2 == 0 ? Json::array() : Json::object();
    if (depth % 2 == 0)
      around.push_back(std::move(json));
    else
      around["a"] = std::move(json);
    json = std::move(around);
  }
  json = nullptr;
  EXPECT_TRUE(json.is_null());
}

}  // namespace
}  // namespace dllaunch
