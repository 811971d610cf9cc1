#include "launcher/config/schema_walk.hpp"

#include <gtest/gtest.h>

#include "launcher/config/schema_scalar.hpp"

namespace dllaunch {
namespace {

const Json schema = Json::parse(R"({
  "type": "object", "additionalProperties": false, "required": ["need"],
  "properties": {
    "need": {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^[a-z]*$"},
    "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
    "rate": {"type": ["number", "null"], "exclusiveMinimum": 0, "default": null},
    "either": {"anyOf": [{"enum": ["auto"]}, {"type": "integer", "minimum": 0}], "default": "auto"},
    "forms": {"anyOf": [{"type": "string", "enum": ["a", "b"]},
                        {"type": "object", "additionalProperties": false, "required": ["k"],
                         "properties": {"k": {"type": "integer"}, "d": {"default": 7}},
                         "x-expected": "{k: 1}"},
                        {"type": "array", "items": {"type": "integer"}}], "default": "a"},
    "raw": {"type": ["string", "number", "boolean"], "default": ""},
    "list": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "default": [1]},
    "block": {"type": "object", "additionalProperties": false,
              "properties": {"flag": {"type": "boolean", "default": true}}},
    "maybe": {"type": ["object", "null"], "default": null, "properties": {}},
    "names": {"type": "object", "propertyNames": {"pattern": "^[A-Z]$", "x-expected": "a letter"},
              "additionalProperties": {"type": "string"}, "default": {}}
  }})");

struct Walked {
  Json value;
  std::string problems;  // one a line
};

Walked walk(const std::string& yaml) {
  const auto document = parse_yaml(yaml, 0);
  if (!document.root) return {nullptr, document.problem->message};
  SchemaWalk walk;
  Walked walked{walk.complete(schema, *document.root), ""};
  for (const auto& problem : std::move(walk).problems()) {
    walked.problems += std::to_string(problem.mark.line) + ":" +
                       std::to_string(problem.mark.column) + " " + problem.message + "\n";
  }
  return walked;
}

TEST(SchemaWalk, FillsEveryDefaultInSchemaOrder) {
  const auto walked = walk("need: a");
  EXPECT_EQ(walked.problems, "");
  EXPECT_EQ(walked.value.dump(),
            R"({"need":"a","count":3,"rate":null,"either":"auto","forms":"a","raw":"","list":[1],)"
            R"("block":{"flag":true},"maybe":null,"names":{}})");
}

TEST(SchemaWalk, TakesTheFormThatTheValueHas) {
  EXPECT_EQ(walk("{need: a, forms: b}").value["forms"], "b");
  EXPECT_EQ(walk("{need: a, forms: {k: 3}}").value["forms"].dump(), R"({"k":3,"d":7})");
  EXPECT_EQ(walk("{need: a, forms: [1, 2]}").value["forms"].dump(), "[1,2]");
  EXPECT_EQ(walk("{need: a, forms: {d: 3, e: 4}}").problems,
            "1:11 required key 'forms.k' is missing\n");
  EXPECT_EQ(walk("{need: a, forms: [x]}").problems,
            "1:19 forms[0] must be a whole number, got 'x'\n");
  EXPECT_EQ(walk("{need: a, forms: c}").problems,
            "1:18 forms must be a or b, {k: 1} or a list, got 'c'\n");
}

TEST(SchemaWalk, KeepsWhatIsGiven) {
  const auto walked = walk(
      "{names: {B: x, A: y}, list: [4, 0x5], raw: 1.50, either: 0, rate: 2, count: 9, need: a,\n"
      " block: {flag: false}, maybe: {}}");
  EXPECT_EQ(walked.problems, "");
  EXPECT_EQ(walked.value.dump(),
            R"({"need":"a","count":9,"rate":2,"either":0,"forms":"a","raw":"1.50","list":[4,5],)"
            R"("block":{"flag":false},"maybe":{},"names":{"B":"x","A":"y"}})");
}

TEST(SchemaWalk, AnEmptyBlockIsAnAbsentOne) {
  EXPECT_EQ(walk("{need: a, block: , maybe: , names: }").value["block"].dump(), R"({"flag":true})");
}

TEST(SchemaWalk, SaysWhatMustStandThere) {
  EXPECT_EQ(walk("{need: a, count: 10}").problems,
            "1:18 count must be a whole number from 1 to 9, got '10'\n");
  EXPECT_EQ(walk("{need: a, count: 2.0}").problems,
            "1:18 count must be a whole number from 1 to 9, got '2.0'\n");
  EXPECT_EQ(walk("{need: a, either: aut}").problems,
            "1:19 either must be auto or a whole number of at least 0, got 'aut'; did you mean "
            "'auto'?\n");
  EXPECT_EQ(walk("{need: a, rate: .nan}").problems,
            "1:17 rate must be a number above 0, got '.nan'\n");
  EXPECT_EQ(walk("{need: 5}").problems, "1:8 need must be text, got '5'\n");
  EXPECT_EQ(walk("{need: true}").problems,
            "1:8 need must be text, got 'true'; write it in quotes\n");
  EXPECT_EQ(walk("{need: A}").problems, "1:8 need must be text, got 'A'\n");
  EXPECT_EQ(walk("{need: \"a\\0b\"}").problems, "1:8 need must be text, got 'a\\x00b'\n");
  EXPECT_EQ(walk("{need: a, list: []}").problems, "1:17 list must be a list, got an empty list\n");
  EXPECT_EQ(walk("{need: a, list: 4}").problems, "1:17 list must be a list, got '4'\n");
  EXPECT_EQ(walk("{need: a, block: {flag: on}}").problems,
            "1:25 block.flag must be true or false, got 'on'\n");
  EXPECT_EQ(walk("{need: a, names: {ab: c}}").problems, "1:19 'ab' is not a letter\n");
}

struct Chosen {
  std::string value;
  std::string problems;
};

Chosen walk_choices(const std::string& yaml) {
  static const Json choices = Json::parse(R"({
    "type": "object", "additionalProperties": false, "properties": {
      "kind": {"type": "string", "enum": ["a", "b", "c"], "default": "a"},
      "rate": {"type": ["number", "null"], "minimum": 0, "exclusiveMaximum": 1, "default": 0.5,
               "x-by": {"key": "kind", "defaults": {"a": 0.5, "b": 0.25}, "needed": []}},
      "pair": {"type": ["array", "null"], "minItems": 2, "maxItems": 2, "default": null,
               "items": {"type": "number", "minimum": 0},
               "x-by": {"key": "kind", "defaults": {"b": null}, "needed": ["b"]}}}})");
  const auto document = parse_yaml(yaml, 0);
  SchemaWalk walk;
  Chosen chosen{walk.complete(choices, *document.root).dump(), ""};
  for (const auto& problem : std::move(walk).problems()) {
    chosen.problems += std::to_string(problem.mark.column) + " " + problem.message + "\n";
  }
  return chosen;
}

TEST(SchemaWalk, ChosenWordsHaveTheirOwnKeysAndDefaults) {
  EXPECT_EQ(walk_choices("{}").value, R"({"kind":"a","rate":0.5,"pair":null})");
  EXPECT_EQ(walk_choices("{kind: b, pair: [1, 2]}").value,
            R"({"kind":"b","rate":0.25,"pair":[1,2]})");
  EXPECT_EQ(walk_choices("{pair: [1, 2], rate: 0, kind: b}").problems, "");
  EXPECT_EQ(walk_choices("{kind: c}").value, R"({"kind":"c","rate":null,"pair":null})");
  EXPECT_EQ(walk_choices("{kind: c, rate: null}").problems, "");
  EXPECT_EQ(walk_choices("{kind: c, rate: 0.1}").problems, "11 kind c has no key 'rate'\n");
  EXPECT_EQ(walk_choices("{kind: a, pair: [1, 2]}").problems,
            "11 kind a has no key 'pair'; it has rate\n");
  EXPECT_EQ(walk_choices("{kind: b}").problems,
            "1 required key 'pair' is missing: kind b needs it\n");
  EXPECT_EQ(walk_choices("{kind: d, rate: 0.1}").problems,
            "8 kind must be one of a, b, c, got 'd'\n");
}

TEST(SchemaWalk, ListsHaveASizeAndItemsABound) {
  EXPECT_EQ(walk_choices("{kind: b, pair: [1]}").problems,
            "17 pair must be a list of 2 numbers, each of at least 0, got a list of 1\n");
  EXPECT_EQ(walk_choices("{kind: b, pair: [1, 2, 3]}").problems,
            "17 pair must be a list of 2 numbers, each of at least 0, got a list of 3\n");
  EXPECT_EQ(walk_choices("{kind: b, pair: [1, -2]}").problems,
            "21 pair[1] must be a number of at least 0, got '-2'\n");
  EXPECT_EQ(walk_choices("{rate: 1}").problems,
            "8 rate must be a number from 0 to less than 1, got '1'\n");
}

TEST(SchemaWalk, SaysThatAQuotedNumberIsText) {
  EXPECT_EQ(walk("{need: a, list: ['2']}").problems,
            "1:18 list[0] must be a whole number, got the text '2'; write it without quotes\n");
  EXPECT_EQ(walk("{need: a, list: [\"2\"]}").problems,
            "1:18 list[0] must be a whole number, got the text '2'; write it without quotes\n");
  EXPECT_EQ(walk("{need: a, block: {flag: 'true'}}").problems,
            "1:25 block.flag must be true or false, got the text 'true'; write it without "
            "quotes\n");
  EXPECT_EQ(walk("{need: a, list: ['x', '']}").problems,
            "1:18 list[0] must be a whole number, got 'x'\n"
            "1:23 list[1] must be a whole number, got ''\n");
}

TEST(SchemaWalk, TellsOfAllProblemsInFileOrder) {
  EXPECT_EQ(
      walk("block:\n  flag: 1\nlist: [a, {}]\ncount: 1\ncount: 2\n").problems,
      "1:1 required key 'need' is missing\n2:9 block.flag must be true or false, got '1'\n3:8 "
      "list[0] must be a whole number, got 'a'\n3:11 list[1] must be a whole number, got a "
      "block of keys\n5:1 key 'count' is given twice, first in line 4\n");
  EXPECT_EQ(walk("[]").problems, "1:1 a job file must be a block of keys, got a list\n");
}

TEST(SchemaWalk, PatternsSurviveLongText) {
  EXPECT_TRUE(matches("^(a|b)*$", std::string(1'000'000, 'a')));
  EXPECT_FALSE(matches("^(a|b)*$", std::string(1'000'000, 'a') + "c"));
}

}  // namespace
}  // namespace dllaunch
