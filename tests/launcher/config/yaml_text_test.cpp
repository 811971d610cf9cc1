#include "launcher/config/yaml_text.hpp"

#include <gtest/gtest.h>

#include <random>

#include "launcher/config/yaml_scalar.hpp"
#include "launcher/config/yaml_tree.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

Json read_back(const YamlNode& node) {
  if (node.kind == YamlKind::sequence) {
    Json list = Json::array();
    for (const auto& item : node.items) list.push_back(read_back(*item));
    return list;
  }
  if (node.kind == YamlKind::mapping) {
    Json object = Json::object();
    for (const auto& entry : node.entries) object[entry.key] = read_back(*entry.value);
    return object;
  }
  return node.kind == YamlKind::null ? Json() : scalar_value(node);
}

Json round_trip(const Json& value) {
  const std::string text = to_yaml(value);
  const auto document = parse_yaml(text, 0);
  EXPECT_FALSE(document.problem) << document.problem->message << "\n" << text;
  return document.problem ? Json() : read_back(*document.root);
}

TEST(YamlText, IsForPeople) {
  EXPECT_EQ(to_yaml(Json::parse(R"({"name": "a", "resources": {"nodes": 1, "time": "00:30:00"},
                                    "after": [], "run": null, "smt": false})")),
            "name: a\nresources:\n  nodes: 1\n  time: \"00:30:00\"\nafter: []\nrun: null\n"
            "smt: false\n");
}

TEST(YamlText, TextStaysText) {
  for (const char* text :
       {"",         "yes",      "No",   "null", "~",         "1",    "1e3",      "0x10",
        ".5",       "00:30:00", "a: b", "- a",  "#c",        "a #b", "'",        "\"",
        "*a",       "&a",       "!t",   "%d",   "@x",        "a\nb", "tab\tbed", "trailing ",
        " leading", "é",        "日本", "{a}",  "[a]",       "=",    "<<",       "-",
        "?",        "true",     "0o7",  ".inf", "2026-11-20"}) {
    const Json value = {{"key", text}};
    EXPECT_EQ(round_trip(value), value) << text;
  }
}

TEST(YamlText, RandomValuesComeBack) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    Json value = Json::object();
    for (auto i = 1 + random() % 5; i > 0; --i) {
      std::string text;
      for (auto c = random() % 8; c > 0; --c) text += static_cast<char>(32 + random() % 95);
      const std::string key = "k" + std::to_string(i);
      switch (random() % 5) {
        case 0:
          value[key] = text;
          break;
        case 1:
          value[key] = static_cast<int>(random());
          break;
        case 2:
          value[key] = std::ldexp(static_cast<double>(random()), -20);
          break;
        case 3:
          value[key] = Json::array({text, random() % 2 == 0, nullptr});
          break;
        default:
          value[key] = {{"inner", text}, {"list", {{{"deep", 1}}}}};
          break;
      }
    }
    EXPECT_EQ(round_trip(value), value) << to_yaml(value);
  }
}

}  // namespace
}  // namespace dllaunch
